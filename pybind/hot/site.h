// Where in the user's program a reference is made.
#ifndef EAGLERAY_SITE_H
#define EAGLERAY_SITE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

// hot_site returns the number of the innermost line that is neither this package's nor the
// standard library's, 0 when there is none or sites are not recorded. Needs the interpreter's lock.
uint32_t hot_site(void);

// hot_record_sites says which folders are the package's and the standard library's, with a slash at their
// end; NULL records nothing. 0: no memory.
int hot_record_sites(const char *package, const char *library);

#endif

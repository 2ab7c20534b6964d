// Memory that goes back to the system; see trim.c.
#ifndef EAGLERAY_TRIM_H
#define EAGLERAY_TRIM_H

void trim_code(void); // gives the code and constants of libraries back, which are in the libraries' files

#endif

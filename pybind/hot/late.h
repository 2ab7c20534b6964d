// When Go starts; see late.c.
#ifndef EAGLERAY_LATE_H
#define EAGLERAY_LATE_H

void late_imported(void); // a module that calls Go is being imported
void late_start(void);
int late_started(void);

// See warm.c.
void warm_begin(void);  // in the zygote: from here on workers are forked
void warm_record(void); // in a worker that has come up
void warm_up(void);     // in a worker that was just forked

void trim_code(void); // see trim.c

#endif

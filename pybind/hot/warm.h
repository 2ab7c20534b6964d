// Pages that a new worker writes to anyway; see warm.c.
#ifndef EAGLERAY_WARM_H
#define EAGLERAY_WARM_H

void warm_begin(void);  // in the zygote: from here on workers are forked
void warm_record(void); // in a worker that has come up
void warm_up(void);     // in a worker that was just forked

#endif

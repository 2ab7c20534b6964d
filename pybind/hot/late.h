// When Go starts; see late.c.
#ifndef EAGLERAY_LATE_H
#define EAGLERAY_LATE_H

void late_imported(void); // a module that calls Go is being imported
void late_start(void);
int late_started(void);

#endif

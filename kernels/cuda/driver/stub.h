#pragma once

// er_driver_load opens the driver library and initialises it, once. 0 is
// success, -1 says that the library cannot be opened, else it is a CUresult.
int er_driver_load(void);

// er_driver_error is the text to a failure of er_driver_load.
const char *er_driver_error(void);

// er_driver_missing is the name of the entry point that this thread called last
// and that the driver does not have; it is forgotten by asking.
const char *er_driver_missing(void);

// er_driver_find is a driver function by name, NULL where there is none.
void *er_driver_find(const char *name);

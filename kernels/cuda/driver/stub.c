//go:build cuda && cgo

#define _GNU_SOURCE
#include "stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

enum { NOT_OPENED = -1, NO_DEVICE = 100, NOT_FOUND = 500 };

static void *library;
static int status = NOT_OPENED;
static char failure[512];
static __thread const char *missing;

// These stand in for functions with any parameters: every cu* function returns
// a CUresult and takes its arguments in registers or in the caller's frame.
static int no_driver(void) { return NO_DEVICE; }
static int not_found(void) { return NOT_FOUND; }

static void load(void) {
    const char *path = getenv("EAGLERAY_LIBCUDA");
    if (!path || !*path) path = "libcuda.so.1";
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *text = dlerror();
        snprintf(failure, sizeof failure, "%s", text ? text : path);
        return;
    }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    if (!init) {
        status = NOT_FOUND;
        snprintf(failure, sizeof failure, "%s has no cuInit", path);
        return;
    }
    status = init(0);
    if (status) snprintf(failure, sizeof failure, "cuInit answered %d", status);
}

int er_driver_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return status;
}

const char *er_driver_error(void) { return failure; }

const char *er_driver_missing(void) {
    const char *name = missing;
    missing = NULL;
    return name;
}

void *er_driver_find(const char *name) { return er_driver_load() ? NULL : dlsym(library, name); }

struct symbol {
    void *function; // NULL until it has been found
    const char *name;
};

// er_driver_resolve is where a trampoline goes that has no address yet. A function
// that the driver lacks is looked for at every call, so that its name is known.
HIDDEN void *er_driver_resolve(struct symbol *s) {
    if (er_driver_load()) return (void *)no_driver;
    void *function = dlsym(library, s->name);
    if (!function) {
        missing = s->name;
        return (void *)not_found;
    }
    __atomic_store_n(&s->function, function, __ATOMIC_RELEASE);
    return function;
}

// cu calls this in its package initialiser and ends the process if it fails.
HIDDEN int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

#define SYMBOL(name) HIDDEN struct symbol er_symbol_##name = {NULL, #name};
#include "symbols.h"
#undef SYMBOL

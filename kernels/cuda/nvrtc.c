//go:build cuda && cgo

#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *program;

static struct {
    int (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*destroy)(program *);
    int (*add_name)(program, const char *);
    int (*compile)(program, int, const char *const *);
    int (*lowered)(program, const char *, const char **);
    int (*log_size)(program, size_t *);
    int (*log)(program, char *);
    int (*ptx_size)(program, size_t *);
    int (*ptx)(program, char *);
    int (*cubin_size)(program, size_t *);
    int (*cubin)(program, char *);
    const char *(*text)(int);
    int (*count_archs)(int *);
    int (*archs)(int *);
} rtc;

static const struct {
    const char *name;
    void *to;
} wanted[] = {
    {"nvrtcCreateProgram", &rtc.create},       {"nvrtcDestroyProgram", &rtc.destroy},
    {"nvrtcAddNameExpression", &rtc.add_name}, {"nvrtcCompileProgram", &rtc.compile},
    {"nvrtcGetLoweredName", &rtc.lowered},     {"nvrtcGetProgramLogSize", &rtc.log_size},
    {"nvrtcGetProgramLog", &rtc.log},          {"nvrtcGetPTXSize", &rtc.ptx_size},
    {"nvrtcGetPTX", &rtc.ptx},                 {"nvrtcGetCUBINSize", &rtc.cubin_size},
    {"nvrtcGetCUBIN", &rtc.cubin},             {"nvrtcGetErrorString", &rtc.text},
    {"nvrtcGetNumSupportedArchs", &rtc.count_archs}, {"nvrtcGetSupportedArchs", &rtc.archs},
};

char *er_nvrtc_open(const char *path, const char *builtins) {
    // NVRTC opens its builtins by name, which finds them if they are loaded.
    if (*builtins) dlopen(builtins, RTLD_NOW | RTLD_GLOBAL);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return strdup(dlerror());
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function) {
            char text[512];
            snprintf(text, sizeof text, "%s has no %s; NVRTC of CUDA 12 has", path, wanted[i].name);
            dlclose(library);
            return strdup(text);
        }
        memcpy(wanted[i].to, &function, sizeof function);
    }
    return NULL;
}

static char *fetch(program p, int (*size)(program, size_t *), int (*get)(program, char *), size_t *length) {
    *length = 0;
    if (size(p, length) || !*length) return NULL;
    char *text = calloc(1, *length + 1);
    if (text && get(p, text) == 0) return text;
    free(text);
    *length = 0;
    return NULL;
}

int er_nvrtc_compile(const char *source, const char *file, const char *name, const char **options, int count, char **image,
                     size_t *size, char **lowered, char **log) {
    program p = NULL;
    size_t n;
    int r = rtc.create(&p, source, file, 0, NULL, NULL);
    if (r) return r;
    r = rtc.add_name(p, name);
    if (r == 0) r = rtc.compile(p, count, options);
    *log = fetch(p, rtc.log_size, rtc.log, &n);
    if (r == 0) {
        const char *found = NULL;
        r = rtc.lowered(p, name, &found);
        if (r == 0 && found) *lowered = strdup(found);
    }
    if (r == 0) *image = fetch(p, rtc.cubin_size, rtc.cubin, size);
    if (r == 0 && !*image) *image = fetch(p, rtc.ptx_size, rtc.ptx, size);
    rtc.destroy(&p);
    return r;
}

const char *er_nvrtc_text(int result) { return rtc.text(result); }

int er_nvrtc_newest(void) {
    int n = 0, newest = 0;
    if (rtc.count_archs(&n) || n <= 0) return 0;
    int *archs = calloc((size_t)n, sizeof *archs);
    if (archs && rtc.archs(archs) == 0)
        for (int i = 0; i < n; i++)
            if (archs[i] > newest) newest = archs[i];
    free(archs);
    return newest;
}

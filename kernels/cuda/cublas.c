//go:build cuda && cgo

#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHM_DEFAULT = -1 };

static int (*create)(void **);
static int (*set_stream)(void *, void *);
static int (*gemm_ex)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                      const void *, void *, int, int, int, int);

char *er_blas_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return strdup(dlerror());
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"cublasCreate_v2", &create}, {"cublasSetStream_v2", &set_stream}, {"cublasGemmEx", &gemm_ex}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function) {
            char text[512];
            snprintf(text, sizeof text, "%s has no %s", path, wanted[i].name);
            dlclose(library);
            return strdup(text);
        }
        memcpy(wanted[i].to, &function, sizeof function);
    }
    return NULL;
}

int er_blas_create(void **handle) { return create(handle); }

int er_blas_gemm(void *handle, uintptr_t stream, int trans_a, int trans_b, int m, int n, int k, const void *a, int lda,
                 const void *b, int ldb, void *c, int ldc, int type, int compute) {
    // The factors have the type that is computed in.
    const float one_f = 1, zero_f = 0;
    const double one_d = 1, zero_d = 0;
    int wide = type == 1; // CUDA_R_64F
    int r = set_stream(handle, (void *)stream);
    if (r) return r;
    return gemm_ex(handle, trans_a, trans_b, m, n, k, wide ? (const void *)&one_d : &one_f, a, type, lda, b, type, ldb,
                   wide ? (const void *)&zero_d : &zero_f, c, type, ldc, compute, ALGORITHM_DEFAULT);
}

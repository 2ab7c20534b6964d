// NVRTC and cuBLAS, which are opened when they are first needed. Their headers
// are not used: these few functions have been the same in all of CUDA 12.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Each gives NULL, or why the library cannot be used; the text is the caller's to free.
char *er_nvrtc_open(const char *path, const char *builtins);
char *er_blas_open(const char *path);

// er_nvrtc_compile gives nvrtc's result. Image and lowered are malloc'd, and log
// is so whatever the result is.
int er_nvrtc_compile(const char *source, const char *file, const char *name, const char **options, int count, char **image,
                     size_t *size, char **lowered, char **log);
const char *er_nvrtc_text(int result);
// er_nvrtc_newest is the newest architecture that the compiler knows, 0 if it does not say.
int er_nvrtc_newest(void);

int er_blas_create(void **handle);
int er_blas_gemm(void *handle, uintptr_t stream, int trans_a, int trans_b, int m, int n, int k, const void *a, int lda,
                 const void *b, int ldb, void *c, int ldc, int type, int compute);

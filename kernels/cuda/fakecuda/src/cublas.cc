// A stand-in for cuBLAS: the one product that is used, by columns as cuBLAS has it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

enum { OK = 0, INVALID_VALUE = 7, R_32F = 0, R_64F = 1, COMPUTE_32F = 68, COMPUTE_64F = 70 };

static int calls;

EXPORT int cublasCreate_v2(void **handle) {
    *handle = new int(0);
    return OK;
}

EXPORT int cublasSetStream_v2(void *, void *) { return OK; }

// How many products this library has computed, for tests.
EXPORT int fake_cublas_calls(void) { return calls; }

template <class T>
static void multiply(bool ta, bool tb, int m, int n, int k, const T *a, int lda, const T *b, int ldb, T *c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            T sum = 0;
            for (int d = 0; d < k; d++)
                sum += (ta ? a[d + (ptrdiff_t)i * lda] : a[i + (ptrdiff_t)d * lda]) *
                       (tb ? b[j + (ptrdiff_t)d * ldb] : b[d + (ptrdiff_t)j * ldb]);
            c[i + (ptrdiff_t)j * ldc] = sum;
        }
}

EXPORT int cublasGemmEx(void *, int ta, int tb, int m, int n, int k, const void *, const void *a, int type_a, int lda,
                        const void *b, int type_b, int ldb, const void *, void *c, int type_c, int ldc, int compute, int) {
    if (type_a != type_b || type_a != type_c || m < 0 || n < 0 || k < 0) return INVALID_VALUE;
    if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return INVALID_VALUE;
    if (type_a == R_32F && compute == COMPUTE_32F)
        multiply(ta, tb, m, n, k, (const float *)a, lda, (const float *)b, ldb, (float *)c, ldc);
    else if (type_a == R_64F && compute == COMPUTE_64F)
        multiply(ta, tb, m, n, k, (const double *)a, lda, (const double *)b, ldb, (double *)c, ldc);
    else return 15; // not supported: f16 and bf16 take the project's kernel
    calls++;
    return OK;
}

// Strided copies, by the size of an element.
#include "common.cuh"

typedef u8 b1;
typedef u16 b2;
typedef u32 b4;
typedef u64 b8;

struct CopyParams {
    i64 n, to;
    Shape shape;
    Operand dst, src;
};
static_assert(sizeof(CopyParams) == 232, "kernels/cuda/params.go has this size, too");

KERNEL(copy, CopyParams) {
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS;
    for (i64 i = first; i < p.n; i += stride) {
        char *to, *from;
        locate(p.shape, i, p.dst, p.src, to, from);
        *(TYPE *)to = *(const TYPE *)from;
    }
}

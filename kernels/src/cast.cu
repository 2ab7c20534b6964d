// Copies from one element type to every other one.
#include "common.cuh"

typedef TYPE S;

struct CopyParams {
    i64 n, to;
    Shape shape;
    Operand dst, src;
};
static_assert(sizeof(CopyParams) == 232, "kernels/cuda/params.go has this size, too");

template <class D> DEVICE void convert(const CopyParams &p) {
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS;
    for (i64 i = first; i < p.n; i += stride) {
        char *to, *from;
        locate(p.shape, i, p.dst, p.src, to, from);
        store<D>(to, load<S>(from));
    }
}

KERNEL(cast, CopyParams) {
    switch (p.to) {
    case F16: return convert<f16>(p);
    case BF16: return convert<bf16>(p);
    case F32: return convert<f32>(p);
    case F64: return convert<f64>(p);
    case I32: return convert<i32>(p);
    case I64: return convert<i64>(p);
    case U8: return convert<u8>(p);
    }
}

// exp(x - max) / sum along one dimension.
#include "common.cuh"

typedef TYPE T;
typedef Elem<T>::C C;

struct SoftmaxParams {
    i64 rows, cols;
    Shape outer;
    Operand out, in; // over outer
    i64 out_step, in_step;
};
static_assert(sizeof(SoftmaxParams) == 248, "kernels/cuda/params.go has this size, too");

DEVICE f32 exponential(f32 x) { return expf(x); }
DEVICE f64 exponential(f64 x) { return exp(x); }

template <bool MAXIMUM> DEVICE f64 total(f64 mine, f64 *shared) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            f64 a = shared[threadIdx.x], b = shared[threadIdx.x + half];
            if (MAXIMUM) shared[threadIdx.x] = a > b || is_nan(a) ? a : b; // NaN wins
            else shared[threadIdx.x] = a + b;
        }
        __syncthreads();
    }
    f64 all = shared[0];
    __syncthreads();
    return all;
}

// One block per row. A row is read to its end before it is written, so out may be in.
KERNEL(softmax, SoftmaxParams) {
    __shared__ f64 shared[THREADS];
    for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
        const char *in = p.in.ptr + offset(p.outer, row, p.in.stride);
        char *out = p.out.ptr + offset(p.outer, row, p.out.stride);
        f64 largest = (f64)load<T>(in), sum = 0;
        for (i64 i = threadIdx.x; i < p.cols; i += THREADS) {
            f64 x = (f64)load<T>(in + i * p.in_step);
            if (x > largest || is_nan(x)) largest = x; // a NaN makes the whole row NaN
        }
        C shift = (C)total<true>(largest, shared);
        for (i64 i = threadIdx.x; i < p.cols; i += THREADS) sum += (f64)exponential(load<T>(in + i * p.in_step) - shift);
        C by = (C)total<false>(sum, shared);
        for (i64 i = threadIdx.x; i < p.cols; i += THREADS)
            store<T>(out + i * p.out_step, exponential(load<T>(in + i * p.in_step) - shift) / by);
    }
}

// One thread per row, for short rows.
KERNEL(softmaxs, SoftmaxParams) {
    for (i64 row = (i64)blockIdx.x * THREADS + threadIdx.x; row < p.rows; row += (i64)gridDim.x * THREADS) {
        const char *in = p.in.ptr + offset(p.outer, row, p.in.stride);
        char *out = p.out.ptr + offset(p.outer, row, p.out.stride);
        C shift = load<T>(in);
#pragma unroll 1
        for (i64 i = 1; i < p.cols; i++) {
            C x = load<T>(in + i * p.in_step);
            if (x > shift || is_nan(x)) shift = x;
        }
        f64 sum = 0;
#pragma unroll 1
        for (i64 i = 0; i < p.cols; i++) sum += (f64)exponential(load<T>(in + i * p.in_step) - shift);
#pragma unroll 1
        for (i64 i = 0; i < p.cols; i++)
            store<T>(out + i * p.out_step, exponential(load<T>(in + i * p.in_step) - shift) / (C)sum);
    }
}

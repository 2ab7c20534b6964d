// Sum, min, max and mean over some dimensions, and the dot product.
#include "common.cuh"

typedef TYPE T;

// The numbers of backend.ReduceOp.
enum { SUM = 1, MIN, MAX, MEAN };

struct ReduceParams {
    i64 outputs, count; // how many there are, and how many elements make one
    i64 parts;          // blocks that share an output; with more than one they write to partial
    i64 op, to;         // to: the data type of the output
    f64 divisor;        // that a mean's sum is divided by, else negative
    Shape outer, inner;
    Operand out, in; // over outer
    Operand step;    // the input's strides over inner
    void *partial;
};
static_assert(sizeof(ReduceParams) == 416, "kernels/cuda/params.go has this size, too");

DEVICE f64 identity(int op, f64) { return op == MIN ? infinity() : op == MAX ? -infinity() : 0; }
DEVICE i64 identity(int op, i64) { return op == MIN ? (i64)~(1ull << 63) : op == MAX ? (i64)(1ull << 63) : 0; }

DEVICE f64 plus(f64 a, f64 b) { return a + b; }
DEVICE i64 plus(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }

template <class A> DEVICE A combine(int op, A a, A b) {
    switch (op) {
    case MIN: return a < b || is_nan(a) ? a : b; // NaN wins
    case MAX: return a > b || is_nan(a) ? a : b;
    }
    return plus(a, b);
}

// total combines what the block's threads have; thread 0 gets the answer.
template <class A> DEVICE A total(int op, A mine, A *shared) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = combine(op, shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    A all = shared[0];
    __syncthreads(); // before the next output's
    return all;
}

template <class A> DEVICE void finish(const ReduceParams &p, i64 output, A value) {
    char *at = p.out.ptr + offset(p.outer, output, p.out.stride);
    if (p.divisor >= 0) store_as((int)p.to, at, (f64)value / p.divisor);
    else store_as((int)p.to, at, value);
}

// One block per output, or per part of one.
template <class A> DEVICE void by_rows(const ReduceParams &p, A *shared) {
    i64 size = (p.count + p.parts - 1) / p.parts;
    for (i64 job = blockIdx.x; job < p.outputs * p.parts; job += gridDim.x) {
        i64 output = job / p.parts, begin = job % p.parts * size;
        i64 end = begin + size < p.count ? begin + size : p.count;
        const char *in = p.in.ptr + offset(p.outer, output, p.in.stride);
        A mine = identity((int)p.op, A());
#pragma unroll 1
        for (i64 i = begin + threadIdx.x; i < end; i += THREADS)
            mine = combine((int)p.op, mine, (A)load<T>(in + offset(p.inner, i, p.step.stride)));
        mine = total((int)p.op, mine, shared);
        if (threadIdx.x) continue;
        if (p.parts > 1) ((A *)p.partial)[job] = mine;
        else finish(p, output, mine);
    }
}

// One thread per output: neighbours read neighbours.
template <class A> DEVICE void by_columns(const ReduceParams &p) {
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS;
    for (i64 output = first; output < p.outputs; output += stride) {
        const char *in = p.in.ptr + offset(p.outer, output, p.in.stride);
        A mine = identity((int)p.op, A());
#pragma unroll 1
        for (i64 i = 0; i < p.count; i++)
            mine = combine((int)p.op, mine, (A)load<T>(in + offset(p.inner, i, p.step.stride)));
        finish(p, output, mine);
    }
}

KERNEL(rows, ReduceParams) {
    __shared__ Elem<T>::A shared[THREADS];
    by_rows(p, shared);
}

KERNEL(columns, ReduceParams) { by_columns<Elem<T>::A>(p); }

// The mean of integers is a sum of f64, which does not wrap around.
KERNEL(rowsf, ReduceParams) {
    __shared__ f64 shared[THREADS];
    by_rows(p, shared);
}

KERNEL(columnsf, ReduceParams) { by_columns<f64>(p); }

struct DotParams {
    i64 n;
    Operand a, b; // the first stride
    void *partial;
};
static_assert(sizeof(DotParams) == 160, "kernels/cuda/params.go has this size, too");

DEVICE f64 times(f64 a, f64 b) { return a * b; }
DEVICE i64 times(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }

// Every block writes one partial sum.
KERNEL(dot, DotParams) {
    typedef Elem<T>::A A;
    __shared__ A shared[THREADS];
    A mine = 0;
    for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < p.n; i += (i64)gridDim.x * THREADS)
        mine = plus(mine, times((A)load<T>(p.a.ptr + i * p.a.stride[0]), (A)load<T>(p.b.ptr + i * p.b.stride[0])));
    mine = total(SUM, mine, shared);
    if (threadIdx.x == 0) ((A *)p.partial)[blockIdx.x] = mine;
}

// Elementwise programs: one step, or a chain that keeps the running value in registers.
#include "common.cuh"

typedef TYPE T;
typedef Elem<T>::C C;

// The numbers of backend.Op.
enum { SCALE = 1, ADDS, ADD, SUB, RSUB, MUL, DIV, AXPY, CLIP, EXP, RELU };

struct Step {
    i32 op, in; // in: which operand is y; operand 0 is the output, 1 is x
    f64 s, t;
};

// The table is the operands, then the steps. It comes with the launch and is
// copied to shared memory, or lies in device memory where it is too large.
const int TABLE = 9 * (sizeof(Operand) / 8) + 24 * (sizeof(Step) / 8);

struct MapParams {
    i64 n;        // elements
    i64 operands; // how many
    i64 steps;    // how many
    i64 vector;   // all operands are contiguous and aligned to 16 bytes, or one element
    Shape shape;
    const u64 *more; // the table in device memory, else null
    u64 table[TABLE];
};
static_assert(sizeof(MapParams) == 1336, "kernels/cuda/params.go has this size, too");

// Integers wrap around: they are computed without sign.
template <class V> struct Wide { typedef V U; };
template <> struct Wide<i32> { typedef u32 U; };
template <> struct Wide<i64> { typedef u64 U; };
typedef Wide<C>::U U;

DEVICE f32 exponential(f32 x) { return expf(x); }
DEVICE f64 exponential(f64 x) { return exp(x); }
template <class V> DEVICE V exponential(V x) { return x; } // integers have none; kernels refuses it
DEVICE f32 divide(f32 x, f32 y) { return x / y; }
DEVICE f64 divide(f64 x, f64 y) { return x / y; }
template <class V> DEVICE V divide(V x, V) { return x; }

DEVICE C apply(int op, C x, C s, C t, C y) {
    switch (op) {
    case SCALE: return (C)((U)x * (U)s);
    case ADDS: return (C)((U)x + (U)s);
    case ADD: return (C)((U)x + (U)y);
    case SUB: return (C)((U)x - (U)y);
    case RSUB: return (C)((U)y - (U)x);
    case MUL: return (C)((U)x * (U)y);
    case DIV: return divide(x, y);
    case AXPY: return (C)((U)s * (U)x + (U)y);
    case CLIP: {
        C low = x > s || is_nan(x) ? x : s;
        return low < t || is_nan(low) ? low : t;
    }
    case EXP: return exponential(x);
    case RELU: return x > 0 || is_nan(x) ? x : C(0);
    }
    return x;
}

const int LANES = 16 / sizeof(T);
struct alignas(16) Vector { T lane[LANES]; };

// A vector of operand o from element i on; an operand with stride 0 is one element.
DEVICE void fetch(C (&v)[LANES], const Operand &o, i64 i) {
    if (o.stride[0] == 0) {
        C one = load<T>(o.ptr);
        for (int l = 0; l < LANES; l++) v[l] = one;
        return;
    }
    Vector raw = *(const Vector *)(o.ptr + i * (i64)sizeof(T));
    for (int l = 0; l < LANES; l++) v[l] = Elem<T>::load(raw.lane[l]);
}

DEVICE void put(const Operand &o, i64 i, const C (&v)[LANES]) {
    Vector raw;
    for (int l = 0; l < LANES; l++) raw.lane[l] = Elem<T>::of(v[l]);
    *(Vector *)(o.ptr + i * (i64)sizeof(T)) = raw;
}

DEVICE void run_step(C (&x)[LANES], int op, const Step &step, const Operand *o, i64 i) {
    C y[LANES], s = Elem<C>::of(step.s), t = Elem<C>::of(step.t);
    if (step.in) fetch(y, o[step.in], i);
    else for (int l = 0; l < LANES; l++) y[l] = C(0);
    for (int l = 0; l < LANES; l++) x[l] = apply(op, x[l], s, t, y[l]);
}

// An operand of whole vectors; one with stride 0 is the same vector everywhere.
struct Source {
    const Vector *at;
    Vector fixed;
    bool moves;
};

DEVICE Source source(const Operand &o) {
    Source s;
    s.moves = o.stride[0] != 0;
    s.at = (const Vector *)o.ptr;
    if (!s.moves)
        for (int l = 0; l < LANES; l++) s.fixed.lane[l] = *(const T *)o.ptr;
    return s;
}

// One step, known to the compiler, over whole vectors. Several are under way at
// once: that, and nothing to read but the operands, is what memory's speed takes.
template <int OP> DEVICE void single(const MapParams &p, const Operand *o, const Step *step, i64 first, i64 stride) {
    const int AHEAD = LANES > 4 ? 2 : 4;
    Source x = source(o[1]), y = source(o[step->in ? step->in : 1]);
    Vector *out = (Vector *)o[0].ptr;
    C s = Elem<C>::of(step->s), t = Elem<C>::of(step->t);
    bool two = step->in != 0;
    i64 n = p.n / LANES;
#pragma unroll 1
    for (i64 v = first; v < n; v += stride * AHEAD) {
        Vector a[AHEAD], b[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            i64 i = v + k * stride;
            a[k] = x.moves && i < n ? x.at[i] : x.fixed;
            b[k] = two && y.moves && i < n ? y.at[i] : y.fixed;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            i64 i = v + k * stride;
            if (i >= n) break;
            Vector r;
            for (int l = 0; l < LANES; l++)
                r.lane[l] = Elem<T>::of(apply(OP, Elem<T>::load(a[k].lane[l]), s, t, Elem<T>::load(b[k].lane[l])));
            out[i] = r;
        }
    }
}

DEVICE void vectors(const MapParams &p, const Operand *o, const Step *s, i64 first, i64 stride) {
    switch (p.steps == 1 ? s->op : 0) {
    case SCALE: return single<SCALE>(p, o, s, first, stride);
    case ADDS: return single<ADDS>(p, o, s, first, stride);
    case ADD: return single<ADD>(p, o, s, first, stride);
    case SUB: return single<SUB>(p, o, s, first, stride);
    case MUL: return single<MUL>(p, o, s, first, stride);
    case DIV: return single<DIV>(p, o, s, first, stride);
    case AXPY: return single<AXPY>(p, o, s, first, stride);
    case RELU: return single<RELU>(p, o, s, first, stride);
    }
#pragma unroll 1
    for (i64 v = first; v < p.n / LANES; v += stride) {
        C x[LANES];
        fetch(x, o[1], v * LANES);
#pragma unroll 1
        for (i64 k = 0; k < p.steps; k++) run_step(x, s[k].op, s[k], o, v * LANES);
        put(o[0], v * LANES, x);
    }
}

// The element with index i of any layout.
DEVICE void element(const MapParams &p, const Operand *o, const Step *s, i64 i) {
    char *to, *from;
    locate(p.shape, i, o[0], o[1], to, from);
    C x = load<T>(from);
#pragma unroll 1
    for (i64 k = 0; k < p.steps; k++) {
        C y = C(0);
        if (s[k].in) y = load<T>(o[s[k].in].ptr + offset(p.shape, i, o[s[k].in].stride));
        x = apply(s[k].op, x, Elem<C>::of(s[k].s), Elem<C>::of(s[k].t), y);
    }
    store<T>(to, x);
}

KERNEL(map, MapParams) {
    __shared__ u64 table[TABLE];
    const u64 *words = p.more;
    if (!words) {
        for (int i = threadIdx.x; i < TABLE; i += THREADS) table[i] = p.table[i];
        __syncthreads();
        words = table;
    }
    const Operand *o = (const Operand *)words;
    const Step *s = (const Step *)(o + p.operands);
    i64 first = (i64)blockIdx.x * THREADS + threadIdx.x, stride = (i64)gridDim.x * THREADS, begin = 0;
    if (p.vector) {
        vectors(p, o, s, first, stride);
        begin = p.n - p.n % LANES;
    }
#pragma unroll 1
    for (i64 i = begin + first; i < p.n; i += stride) element(p, o, s, i);
}

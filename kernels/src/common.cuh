// What every kernel shares: element types, conversions, strided indexing.
//
// A source is compiled once per element type, with -DTYPE=f32 and the like. It
// compiles as CUDA C with NVRTC, and as C++ for the host with host.h, where the
// tests run it block by block. The structs that kernels take are mirrored in
// kernels/cuda/params.go; both sides assert their sizes.
#pragma once

#ifndef __CUDACC__
#include "host.h"
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

// The numbers of backend.DType.
enum { F16 = 1, BF16, F32, F64, I32, I64, U8 };

const int MAX_RANK = 8;  // after dimensions that are contiguous have been joined
const int THREADS = 256; // threads in a block, everywhere but in matmul

#define DEVICE static __device__ __forceinline__
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
// KERNEL(name, Params) begins a kernel called name_TYPE that takes Params p.
#define KERNEL(name, Params) KERNEL_(JOIN(name, TYPE), Params)
#define KERNEL_(name, Params) ENTRY(name, Params)
#ifdef __CUDACC__
#define ENTRY(name, Params) extern "C" __global__ void name(const Params p)
#endif

DEVICE f32 bits_f32(u32 u) {
    union { u32 u; f32 f; } v;
    v.u = u;
    return v.f;
}

DEVICE u32 f32_bits(f32 f) {
    union { u32 u; f32 f; } v;
    v.f = f;
    return v.u;
}

DEVICE f64 infinity() { return bits_f32(0x7f800000); }

DEVICE f32 f16_to_f32(u16 h) {
#ifdef __CUDA_ARCH__
    f32 f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    u32 sign = (u32)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return bits_f32(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    // The exponent's bias differs by 112. Multiplying rights subnormals, too.
    return bits_f32(sign | f32_bits(bits_f32(rest << 13) * 0x1p112f));
#endif
}

DEVICE u16 f32_to_f16(f32 f) {
#ifdef __CUDA_ARCH__
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    u32 u = f32_bits(f), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return sign | 0x7fff;
    if (u >= 0x477ff000) return sign | 0x7c00; // 65520 and more round to infinity
    if (u < 0x38800000) {                      // subnormal: let an addition align and round it
        u32 r = f32_bits(bits_f32(u) + 0.5f) - 0x3f000000u;
        return sign | r;
    }
    u += 0xfff + (u >> 13 & 1);
    return sign | ((u - 0x38000000) >> 13);
#endif
}

DEVICE f32 bf16_to_f32(u16 h) { return bits_f32((u32)h << 16); }

DEVICE u16 f32_to_bf16(f32 f) {
    u32 u = f32_bits(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (u16)(u >> 16 | 0x40);
    return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// to_odd rounds so that rounding the result again, to f16 or bf16, gives what
// rounding d once would give: an inexact result gets an odd last bit.
DEVICE f32 to_odd(f64 d) {
    f32 f = (f32)d;
    if ((f64)f == d || d != d) return f;
    u32 u = f32_bits(f);
    f64 size = d < 0 ? -d : d, rounded = f < 0 ? -(f64)f : (f64)f;
    if (rounded > size) u--;
    return bits_f32(u | 1);
}

// Numbers outside the range become the nearest integer that there is, NaN becomes 0, as on the processor.
DEVICE i64 f64_to_i64(f64 d) {
    if (d != d) return 0;
    if (d >= 0x1p63) return (i64)~(1ull << 63);
    return d < -0x1p63 ? (i64)(1ull << 63) : (i64)d;
}
DEVICE i32 f64_to_i32(f64 d) {
    if (d != d) return 0;
    return (i32)(d < -0x1p31 ? -0x1p31 : d > 2147483647.0 ? 2147483647.0 : d);
}
DEVICE u8 f64_to_u8(f64 d) { return (u8)(d > 0 ? d > 255 ? 255 : d : 0); }

DEVICE bool is_nan(f32 v) { return v != v; }
DEVICE bool is_nan(f64 v) { return v != v; }
DEVICE bool is_nan(i64) { return false; }
DEVICE bool is_nan(i32) { return false; }
DEVICE bool is_nan(u8) { return false; }

// Elem<T>: C is the type to compute in, A the type to accumulate in.
template <class T> struct Elem;
template <> struct Elem<f16> {
    typedef f32 C;
    typedef f64 A;
    static __device__ C load(f16 v) { return f16_to_f32(v.bits); }
    static __device__ f16 of(f32 v) { f16 r = {f32_to_f16(v)}; return r; }
    static __device__ f16 of(f64 v) { return of(to_odd(v)); }
    template <class V> static __device__ f16 of(V v) { return of((f32)v); }
};
template <> struct Elem<bf16> {
    typedef f32 C;
    typedef f64 A;
    static __device__ C load(bf16 v) { return bf16_to_f32(v.bits); }
    static __device__ bf16 of(f32 v) { bf16 r = {f32_to_bf16(v)}; return r; }
    static __device__ bf16 of(f64 v) { return of(to_odd(v)); }
    template <class V> static __device__ bf16 of(V v) { return of((f32)v); }
};
template <> struct Elem<f32> {
    typedef f32 C;
    typedef f64 A;
    static __device__ C load(f32 v) { return v; }
    template <class V> static __device__ f32 of(V v) { return (f32)v; }
};
template <> struct Elem<f64> {
    typedef f64 C;
    typedef f64 A;
    static __device__ C load(f64 v) { return v; }
    template <class V> static __device__ f64 of(V v) { return (f64)v; }
};
template <> struct Elem<i32> {
    typedef i32 C;
    typedef i64 A;
    static __device__ C load(i32 v) { return v; }
    static __device__ i32 of(f32 v) { return f64_to_i32(v); }
    static __device__ i32 of(f64 v) { return f64_to_i32(v); }
    template <class V> static __device__ i32 of(V v) { return (i32)(u64)v; }
};
template <> struct Elem<i64> {
    typedef i64 C;
    typedef i64 A;
    static __device__ C load(i64 v) { return v; }
    static __device__ i64 of(f32 v) { return f64_to_i64(v); }
    static __device__ i64 of(f64 v) { return f64_to_i64(v); }
    template <class V> static __device__ i64 of(V v) { return v; }
};
template <> struct Elem<u8> {
    typedef u8 C;
    typedef i64 A;
    static __device__ C load(u8 v) { return v; }
    static __device__ u8 of(f32 v) { return f64_to_u8(v); }
    static __device__ u8 of(f64 v) { return f64_to_u8(v); }
    template <class V> static __device__ u8 of(V v) { return (u8)v; }
};

template <class T> DEVICE typename Elem<T>::C load(const void *at) { return Elem<T>::load(*(const T *)at); }
template <class T, class V> DEVICE void store(void *at, V v) { *(T *)at = Elem<T>::of(v); }

// store_as stores as the data type that is known only now.
template <class V> static __device__ __noinline__ void store_as(int type, void *at, V v) {
    switch (type) {
    case F16: return store<f16>(at, v);
    case BF16: return store<bf16>(at, v);
    case F32: return store<f32>(at, v);
    case F64: return store<f64>(at, v);
    case I32: return store<i32>(at, v);
    case I64: return store<i64>(at, v);
    case U8: return store<u8>(at, v);
    }
}

// Strides of one operand, in bytes.
struct Operand {
    char *ptr;
    i64 stride[MAX_RANK];
};

// Shape is the iteration space, the last dimension fastest.
struct Shape {
    i64 rank;
    i64 dim[MAX_RANK];
};

// quotient divides by the 32-bit division where that is enough: the 64-bit one is slow.
DEVICE i64 quotient(i64 a, i64 b) { return (u64)(a | b) >> 31 ? a / b : (i64)((u32)a / (u32)b); }

// offset is where the element with linear index i is.
DEVICE i64 offset(const Shape &shape, i64 i, const i64 *stride) {
    i64 at = 0;
#pragma unroll 1
    for (int d = (int)shape.rank - 1; d > 0; d--) {
        i64 next = quotient(i, shape.dim[d]);
        at += (i - next * shape.dim[d]) * stride[d];
        i = next;
    }
    return shape.rank > 0 ? at + i * stride[0] : at;
}

// locate is offset for two operands at once.
DEVICE void locate(const Shape &shape, i64 i, const Operand &a, const Operand &b, char *&at_a, char *&at_b) {
    at_a = a.ptr, at_b = b.ptr;
#pragma unroll 1
    for (int d = (int)shape.rank - 1; d > 0; d--) {
        i64 next = quotient(i, shape.dim[d]), here = i - next * shape.dim[d];
        at_a += here * a.stride[d];
        at_b += here * b.stride[d];
        i = next;
    }
    if (shape.rank > 0) at_a += i * a.stride[0], at_b += i * b.stride[0];
}

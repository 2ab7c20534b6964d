// CUDA C for the host: what a source with kernels needs to compile with g++.
// A block's threads are fibers that run in turn between __syncthreads, so races
// within a block do not show here; blocks run one after the other.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define __global__ __attribute__((visibility("default"), noinline))
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

struct uint3 { unsigned x, y, z; };
struct dim3 : uint3 {
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : uint3{a, b, c} {}
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
const int warpSize = 32;

void __syncthreads();
void *fake_shared(); // the launch's dynamic shared memory

template <class T> T atomicAdd(T *at, T v) { T old = *at; *at = old + v; return old; }
template <class T> T atomicMax(T *at, T v) { T old = *at; *at = old < v ? v : old; return old; }
template <class T> T atomicMin(T *at, T v) { T old = *at; *at = v < old ? v : old; return old; }

// A kernel that can be launched by the name that it would have in PTX.
struct fake_kernel {
    void (*call)(void (*f)(), void **args);
    void (*function)();
    const char *name;
    fake_kernel *next;
    fake_kernel(void (*function)(), void (*call)(void (*)(), void **));
};

template <int... N> struct fake_list {};
template <int N, int... Rest> struct fake_count : fake_count<N - 1, N - 1, Rest...> {};
template <int... Rest> struct fake_count<0, Rest...> { typedef fake_list<Rest...> type; };

template <class... Args, int... N> void fake_apply(void (*f)(Args...), void **args, fake_list<N...>) {
    (void)args;
    f(*(Args *)args[N]...);
}

template <class... Args> void fake_call(void (*f)(), void **args) {
    fake_apply((void (*)(Args...))f, args, typename fake_count<sizeof...(Args)>::type());
}

template <class... Args> fake_kernel *fake_registered(void (*f)(Args...)) {
    return new fake_kernel((void (*)())f, fake_call<Args...>);
}

// The project's own kernels begin with this; see common.cuh.
#define ENTRY(name, Params)                                                                                           \
    extern "C" __global__ void name(Params p);                                                                        \
    static fake_kernel *registered_##name = fake_registered(name);                                                    \
    extern "C" __global__ void name(Params p)

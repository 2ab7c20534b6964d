// What Go calls. Types are numbered as backend.DType, operations as backend.Op
// and backend.ReduceOp. Strides are in bytes. Functions return 0, or ENOMEM.
#ifndef CPU_H
#define CPU_H

#include <stdint.h>

enum { F16 = 1, BF16, F32, F64, I32, I64, U8, NTYPES };
enum { SCALE = 1, ADDS, ADD, SUB, RSUB, MUL, DIV, AXPY, CLIP, EXP, RELU, NOPS };
enum { SUM = 1, MIN, MAX, MEAN };
enum { MAXDIMS = 32, MAXOPERANDS = 17 };

// step is backend.Step.
typedef struct {
	uint8_t op;
	double s, t;
	int64_t in;
} step;

// Operand 0 is the output; strides has ndim entries for each operand.
int cpu_map(int type, int ndim, const int64_t *shape, int noperands, const uintptr_t *ptrs, const int64_t *strides,
	int nsteps, const step *steps);
int cpu_copy(int to, int from, int ndim, const int64_t *shape, uintptr_t dst, const int64_t *dst_strides, uintptr_t src,
	const int64_t *src_strides);
// Reduces dimension axis, or all for -1. The output's strides have a 0 for what is reduced.
int cpu_reduce(int op, int to, int from, int ndim, const int64_t *shape, int axis, uintptr_t out, const int64_t *out_strides,
	uintptr_t in, const int64_t *in_strides);
int cpu_dot(int type, int64_t n, uintptr_t out, uintptr_t a, int64_t a_stride, uintptr_t b, int64_t b_stride);
// mnk are the rows and columns of the output and the length between; strides those of out, a and b, rows first.
int cpu_matmul(int type, const int64_t *mnk, uintptr_t out, uintptr_t a, uintptr_t b, const int64_t *strides);
int cpu_softmax(int type, int ndim, const int64_t *shape, int axis, uintptr_t out, const int64_t *out_strides, uintptr_t in,
	const int64_t *in_strides);

// The instruction sets that the functions were compiled for, best first;
// cpu_use picks one and returns its name, NULL when there is none of that
// number or this processor lacks it.
const char *cpu_use(int set);

#endif

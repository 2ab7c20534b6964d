// The loops over blocks of contiguous elements, compiled once for each
// instruction set. Everything else goes through the table isa.
#ifndef ISA_H
#define ISA_H

#include <stddef.h>
#include <stdint.h>

#include "cpu.h"

// BLOCK is how many elements the drivers hand on at a time: few enough that a
// chain's intermediate results stay in the first cache.
enum { BLOCK = 1024 };

typedef void step_fn(void *d, const void *x, const void *y, double s, double t, size_t n); // d may be x or y
typedef void cast_fn(void *d, const void *x, size_t n);
typedef double sum_fn(const void *x, size_t n);
typedef int64_t isum_fn(const void *x, size_t n);
typedef void extreme_fn(void *best, const void *x, size_t n); // best is read and written
typedef void rows_fn(void *acc, const void *x, size_t n);     // acc[i] takes x[i] in
typedef double dot_fn(const void *x, const void *y, size_t n);
typedef int64_t idot_fn(const void *x, const void *y, size_t n);
typedef double expsum_fn(void *d, const void *x, const void *max, size_t n); // d = exp(x - max[0]), returns the sum
typedef void exprows_fn(void *x, const void *max, double *sums, size_t n);   // in place, with a max and a sum for each
typedef void divrows_fn(void *x, const double *sums, size_t n);            // x /= sums
// tile adds the product of k columns of a and k rows of b, both packed, to a tile of c.
typedef void tile_fn(size_t k, const void *a, const void *b, void *c, size_t stride);

struct isa {
	const char *name;
	step_fn *step[NTYPES][NOPS]; // of the types that are computed in
	cast_fn *cast[NTYPES][NTYPES];
	sum_fn *sum[NTYPES]; // all of these but F16 and BF16
	isum_fn *isum[NTYPES];
	extreme_fn *min[NTYPES], *max[NTYPES];
	rows_fn *sumrows[NTYPES], *isumrows[NTYPES], *minrows[NTYPES], *maxrows[NTYPES];
	dot_fn *dot[NTYPES];
	idot_fn *idot[NTYPES];
	expsum_fn *expsum[NTYPES];
	exprows_fn *exprows[NTYPES];
	divrows_fn *divrows[NTYPES];
	tile_fn *tile[NTYPES];
	int tile_m[NTYPES], tile_n[NTYPES];
};

extern const struct isa isa_base, isa_avx2, isa_avx512;
extern const struct isa *isa; // the one in use

// APART tells the compiler that the iterations of the next loop do not depend
// on each other, also where it cannot see that.
#ifdef __clang__
#define APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define APART _Pragma("GCC ivdep")
#endif

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

#endif

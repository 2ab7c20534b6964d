// Walks over the elements of an array with any strides, in C order, a block at
// a time.
#ifndef WALK_H
#define WALK_H

#include <stddef.h>
#include <stdint.h>

#include "cpu.h"

static const int type_size[NTYPES] = { [F16] = 2, [BF16] = 2, [F32] = 4, [F64] = 8, [I32] = 4, [I64] = 8, [U8] = 1 };

// compute_type is the type that elementwise chains are computed in.
static inline int compute_type(int type) { return type == F16 || type == BF16 ? F32 : type; }

// layout is the dimensions that several operands share.
typedef struct {
	int n, noperands;
	int64_t shape[MAXDIMS];
	char *base[MAXOPERANDS];
	int64_t stride[MAXOPERANDS][MAXDIMS];
} layout;

// layout_order takes the dimensions in the order in which operand 0 lies in
// memory, forwards. Only for work that does not depend on the elements' order.
void layout_order(layout *l);
int64_t layout_count(const layout *l);

// walk is a position in one operand. Its dimensions are merged where they can be.
typedef struct {
	char *p;
	int n, size;
	int64_t shape[MAXDIMS], stride[MAXDIMS], index[MAXDIMS];
} walk;

void walk_start(walk *w, const layout *l, int operand, int size);
// walk_run is how many elements from here on lie in a row without gaps, 0 if not even the next two do.
int64_t walk_run(const walk *w);
void walk_skip(walk *w, int64_t n);
// walk_gather copies the next n elements to where they lie in a row, walk_scatter the other way; both go on by n.
void walk_gather(walk *w, void *to, int64_t n);
void walk_scatter(walk *w, const void *from, int64_t n);

// copy_run copies n elements of a size with strides.
void copy_run(char *d, int64_t d_stride, const char *s, int64_t s_stride, int64_t n, int size);

#endif

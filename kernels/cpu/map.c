// Chains of elementwise steps and copies, a block at a time.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "walk.h"

// elements that are handed on at a time where nothing stays in the cache
enum { LONG = 1 << 16 };

// input is an operand on its way to the compute type.
typedef struct {
	walk w;
	char *raw, *wide; // blocks: as gathered, and converted; NULL until needed
} input;

static void *block(char **p) { return *p ? *p : (*p = malloc(BLOCK * 8)); }

// next returns n elements in the compute type, in place where they lie so.
static const void *next(input *in, int type, int compute, int64_t n)
{
	const void *x;
	if (walk_run(&in->w) >= n) {
		x = in->w.p;
		walk_skip(&in->w, n);
	} else {
		if (!block(&in->raw))
			return NULL;
		walk_gather(&in->w, in->raw, n);
		x = in->raw;
	}
	if (type == compute)
		return x;
	if (!block(&in->wide))
		return NULL;
	isa->cast[type][compute](in->wide, x, (size_t)n);
	return in->wide;
}

static void arrange(layout *l, int ndim, const int64_t *shape, int noperands, const uintptr_t *ptrs, const int64_t *strides)
{
	l->n = ndim;
	l->noperands = noperands;
	memcpy(l->shape, shape, (size_t)ndim * 8);
	for (int o = 0; o < noperands; o++) {
		l->base[o] = (char *)ptrs[o];
		memcpy(l->stride[o], strides + o * ndim, (size_t)ndim * 8);
	}
	layout_order(l);
}

// One step over operands of the compute type that all lie in a row needs no
// blocks.
static int map_plain(int type, const walk *out, const input *in, int noperands, const step *st, int64_t total)
{
	if (walk_run(out) != total)
		return 0;
	for (int o = 1; o < noperands; o++)
		if (walk_run(&in[o].w) != total)
			return 0;
	isa->step[type][st->op](out->p, in[1].w.p, noperands > 1 && st->in ? in[st->in + 1].w.p : NULL, st->s, st->t, (size_t)total);
	return 1;
}

int cpu_map(int type, int ndim, const int64_t *shape, int noperands, const uintptr_t *ptrs, const int64_t *strides,
	int nsteps, const step *steps)
{
	layout l;
	arrange(&l, ndim, shape, noperands, ptrs, strides);
	int compute = compute_type(type), size = type_size[type], err = 0;
	int64_t total = layout_count(&l);
	walk out;
	input in[MAXOPERANDS];
	walk_start(&out, &l, 0, size);
	for (int o = 1; o < noperands; o++) {
		walk_start(&in[o].w, &l, o, size);
		in[o].raw = in[o].wide = NULL;
	}
	if (nsteps == 1 && type == compute && map_plain(type, &out, in, noperands, steps, total))
		return 0;
	_Alignas(64) char run[BLOCK * 8], narrow[BLOCK * 8];
	const void *operand[MAXOPERANDS];
	for (int64_t n; total > 0 && !err; total -= n) {
		n = total < BLOCK ? total : BLOCK;
		for (int o = 1; o < noperands; o++)
			if (!(operand[o] = next(&in[o], type, compute, n)))
				err = ENOMEM;
		if (err)
			break;
		int direct = walk_run(&out) >= n;
		const void *x = operand[1];
		for (int i = 0; i < nsteps; i++) {
			void *d = i == nsteps - 1 && direct && type == compute ? out.p : run;
			isa->step[compute][steps[i].op](d, x, operand[steps[i].in + 1], steps[i].s, steps[i].t, (size_t)n);
			x = d;
		}
		if (type != compute) {
			void *d = direct ? out.p : narrow;
			isa->cast[compute][type](d, x, (size_t)n);
			x = d;
		}
		if (direct)
			walk_skip(&out, n);
		else
			walk_scatter(&out, x, n);
	}
	for (int o = 1; o < noperands; o++) {
		free(in[o].raw);
		free(in[o].wide);
	}
	return err;
}

static int overlap(const layout *l, const int *size)
{
	char *lo[2], *hi[2];
	for (int o = 0; o < 2; o++) {
		lo[o] = l->base[o], hi[o] = l->base[o] + size[o];
		for (int d = 0; d < l->n; d++) {
			int64_t far = (l->shape[d] - 1) * l->stride[o][d];
			if (far < 0)
				lo[o] += far;
			else
				hi[o] += far;
		}
	}
	return lo[0] < hi[1] && lo[1] < hi[0];
}

// copy moves elements between arrays that share none.
static void copy(const layout *l, int to, int from)
{
	int64_t total = layout_count(l);
	walk d, s;
	walk_start(&d, l, 0, type_size[to]);
	walk_start(&s, l, 1, type_size[from]);
	_Alignas(64) char raw[BLOCK * 8], cast[BLOCK * 8];
	for (int64_t n; total > 0; total -= n) {
		int64_t d_run = walk_run(&d), s_run = walk_run(&s);
		int64_t both = d_run < s_run ? d_run : s_run;
		n = total < BLOCK ? total : BLOCK;
		if (both > n) // in a row on both sides
			n = both;
		const void *x = raw;
		if (s_run >= n) {
			x = s.p;
			walk_skip(&s, n);
		} else if (to == from && d_run >= n) {
			walk_gather(&s, d.p, n);
			walk_skip(&d, n);
			continue;
		} else
			walk_gather(&s, raw, n);
		if (d_run >= n) {
			if (to == from)
				memcpy(d.p, x, (size_t)(n * d.size));
			else
				isa->cast[from][to](d.p, x, (size_t)n);
			walk_skip(&d, n);
			continue;
		}
		if (to != from) {
			isa->cast[from][to](cast, x, (size_t)n);
			x = cast;
		}
		walk_scatter(&d, x, n);
	}
}

// A transposed matrix is copied by squares, so that both sides use whole cache
// lines. The last two dimensions are it, the others are walked.
static int copy_transposed(const layout *l, int size)
{
	enum { SQUARE = 32 };
	if (l->n != 2 || l->stride[0][1] != size || l->stride[1][0] != size || l->shape[0] < SQUARE || l->shape[1] < SQUARE)
		return 0;
	for (int64_t r = 0; r < l->shape[0]; r += SQUARE)
		for (int64_t c = 0; c < l->shape[1]; c += SQUARE) {
			int64_t rows = l->shape[0] - r < SQUARE ? l->shape[0] - r : SQUARE;
			int64_t columns = l->shape[1] - c < SQUARE ? l->shape[1] - c : SQUARE;
			for (int64_t i = r; i < r + rows; i++)
				copy_run(l->base[0] + i * l->stride[0][0] + c * size, size,
					l->base[1] + i * size + c * l->stride[1][1], l->stride[1][1], columns, size);
		}
	return 1;
}

int cpu_copy(int to, int from, int ndim, const int64_t *shape, uintptr_t dst, const int64_t *dst_strides, uintptr_t src,
	const int64_t *src_strides)
{
	layout l;
	l.n = ndim;
	l.noperands = 2;
	l.base[0] = (char *)dst, l.base[1] = (char *)src;
	memcpy(l.shape, shape, (size_t)ndim * 8);
	memcpy(l.stride[0], dst_strides, (size_t)ndim * 8);
	memcpy(l.stride[1], src_strides, (size_t)ndim * 8);
	layout_order(&l);
	int size[2] = { type_size[to], type_size[from] };
	if (!overlap(&l, size)) {
		if (to != from || !copy_transposed(&l, size[0]))
			copy(&l, to, from);
		return 0;
	}
	int64_t total = layout_count(&l);
	char *all = malloc((size_t)(total * size[1]));
	if (!all)
		return ENOMEM;
	walk s;
	walk_start(&s, &l, 1, size[1]);
	walk_gather(&s, all, total);
	l.base[1] = all;
	for (int64_t d = l.n - 1, step = size[1]; d >= 0; step *= l.shape[d], d--)
		l.stride[1][d] = step;
	copy(&l, to, from);
	free(all);
	return 0;
}

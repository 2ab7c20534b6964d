// Reductions of all elements or along an axis, and the dot product.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "walk.h"

// pairwise_sum adds up the sums of blocks pairwise: part[i] holds that of 2^i blocks.
// With rounding errors that grow with the logarithm of the count.
typedef struct {
	uint64_t blocks;
	double part[64];
} pairwise_sum;

static void pairwise_add(pairwise_sum *t, double x)
{
	int i = 0;
	for (uint64_t b = t->blocks++; b & 1; b >>= 1)
		x += t->part[i++];
	t->part[i] = x;
}

static double pairwise_total(const pairwise_sum *t)
{
	double x = 0;
	for (int i = 0; i < 64; i++)
		if (t->blocks >> i & 1)
			x += t->part[i];
	return x;
}

// result is a reduction before it is converted to the output's type.
typedef union {
	double d;
	int64_t i;
	char best[8];
} result;

// how says how to reduce: in doubles, in integers, or to one of the elements.
typedef struct {
	int op, from, to;
	int compute; // what the functions for blocks take
	int integers, extreme;
	int64_t length; // elements that make one result
} how;

static void finish(const how *h, result *r, char *out)
{
	if (h->extreme) {
		isa->cast[h->compute][h->to](out, r->best, 1);
	} else if (h->integers) {
		isa->cast[I64][h->to](out, &r->i, 1);
	} else {
		if (h->op == MEAN)
			r->d /= (double)h->length;
		isa->cast[F64][h->to](out, &r->d, 1);
	}
}

// reduce_line reduces the n elements of a walk.
static void reduce_line(const how *h, walk *w, int64_t n, char *out)
{
	result r = { .i = 0 };
	pairwise_sum t;
	t.blocks = 0;
	_Alignas(64) char raw[BLOCK * 8], wide[BLOCK * 8];
	int first = 1;
	for (int64_t m; n > 0; n -= m, first = 0) {
		m = n < BLOCK ? n : BLOCK;
		const void *x = raw;
		if (walk_run(w) >= m) {
			x = w->p;
			walk_skip(w, m);
		} else
			walk_gather(w, raw, m);
		if (h->from != h->compute) {
			isa->cast[h->from][h->compute](wide, x, (size_t)m);
			x = wide;
		}
		if (h->extreme) {
			if (first)
				memcpy(r.best, x, (size_t)type_size[h->compute]);
			(h->op == MIN ? isa->min : isa->max)[h->compute](r.best, x, (size_t)m);
		} else if (h->integers)
			r.i = (int64_t)((uint64_t)r.i + (uint64_t)isa->isum[h->compute](x, (size_t)m));
		else
			pairwise_add(&t, isa->sum[h->compute](x, (size_t)m));
	}
	if (!h->extreme && !h->integers)
		r.d = pairwise_total(&t);
	finish(h, &r, out);
}

// reduce_rows reduces n rows of m elements, each to the output's: where the
// axis has the larger stride.
static void reduce_rows(const how *h, char *in, int64_t n, int64_t n_stride, int64_t m, int64_t m_stride, char *out, int64_t out_stride)
{
	_Alignas(64) char acc[BLOCK * 8], raw[BLOCK * 8], wide[BLOCK * 8];
	int size = type_size[h->from];
	for (int64_t k; m > 0; m -= k, in += k * m_stride, out += k * out_stride) {
		k = m < BLOCK ? m : BLOCK;
		memset(acc, 0, sizeof acc);
		for (int64_t row = 0; row < n; row++) {
			const void *x = in + row * n_stride;
			if (m_stride != size) {
				copy_run(raw, size, x, m_stride, k, size);
				x = raw;
			}
			if (h->from != h->compute) {
				isa->cast[h->from][h->compute](wide, x, (size_t)k);
				x = wide;
			}
			if (h->extreme && row == 0)
				memcpy(acc, x, (size_t)(k * type_size[h->compute]));
			else if (h->extreme)
				(h->op == MIN ? isa->minrows : isa->maxrows)[h->compute](acc, x, (size_t)k);
			else if (h->integers)
				isa->isumrows[h->compute](acc, x, (size_t)k);
			else
				isa->sumrows[h->compute](acc, x, (size_t)k);
		}
		int width = h->extreme ? type_size[h->compute] : 8;
		for (int64_t i = 0; i < k; i++) {
			result r;
			memcpy(&r, acc + i * width, (size_t)width);
			finish(h, &r, out + i * out_stride);
		}
	}
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

int cpu_reduce(int op, int to, int from, int ndim, const int64_t *shape, int axis, uintptr_t out, const int64_t *out_strides,
	uintptr_t in, const int64_t *in_strides)
{
	how h = { .op = op, .from = from, .to = to, .compute = compute_type(from), .extreme = op == MIN || op == MAX };
	h.integers = op == SUM && from >= I32;
	layout l; // operand 0 is the input
	l.n = ndim;
	l.noperands = 2;
	l.base[0] = (char *)in, l.base[1] = (char *)out;
	memcpy(l.shape, shape, (size_t)ndim * 8);
	memcpy(l.stride[0], in_strides, (size_t)ndim * 8);
	memcpy(l.stride[1], out_strides, (size_t)ndim * 8);
	walk w;
	if (axis < 0) {
		h.length = layout_count(&l);
		if (h.length)
			layout_order(&l);
		walk_start(&w, &l, 0, type_size[from]);
		reduce_line(&h, &w, h.length, (char *)out);
		return 0;
	}
	// The axis alone, then the rest.
	layout line = { .n = 1, .noperands = 1, .shape = { shape[axis] }, .stride = { { in_strides[axis] } } };
	h.length = shape[axis];
	for (int d = axis; d + 1 < l.n; d++) {
		l.shape[d] = l.shape[d + 1];
		l.stride[0][d] = l.stride[0][d + 1];
		l.stride[1][d] = l.stride[1][d + 1];
	}
	l.n--;
	if (h.length)
		layout_order(&l);
	// Rows also where the lines would be short, though each row then has gaps.
	int by_rows = l.n > 0 && l.shape[l.n - 1] >= 8 &&
		(magnitude(l.stride[0][l.n - 1]) < magnitude(in_strides[axis]) || (h.length <= 16 && l.shape[l.n - 1] > h.length));
	int64_t inner = by_rows ? l.shape[l.n - 1] : 1, in_step = 0, out_step = 0;
	if (by_rows) {
		l.n--;
		in_step = l.stride[0][l.n];
		out_step = l.stride[1][l.n];
	}
	walk o, i;
	walk_start(&o, &l, 1, type_size[to]);
	walk_start(&i, &l, 0, type_size[from]);
	for (int64_t n = layout_count(&l); n > 0; n--) {
		if (by_rows)
			reduce_rows(&h, i.p, h.length, in_strides[axis], inner, in_step, o.p, out_step);
		else {
			line.base[0] = i.p;
			walk_start(&w, &line, 0, type_size[from]);
			reduce_line(&h, &w, h.length, o.p);
		}
		walk_skip(&o, 1);
		walk_skip(&i, 1);
	}
	return 0;
}

int cpu_dot(int type, int64_t n, uintptr_t out, uintptr_t a, int64_t a_stride, uintptr_t b, int64_t b_stride)
{
	int compute = compute_type(type), size = type_size[type], integers = type >= I32;
	_Alignas(64) char raw[2][BLOCK * 8], wide[2][BLOCK * 8];
	const char *base[2] = { (const char *)a, (const char *)b };
	int64_t stride[2] = { a_stride, b_stride };
	pairwise_sum t;
	t.blocks = 0;
	uint64_t whole = 0;
	for (int64_t m, at = 0; at < n; at += m) {
		m = n - at < BLOCK ? n - at : BLOCK;
		const void *x[2];
		for (int o = 0; o < 2; o++) {
			x[o] = base[o] + at * stride[o];
			if (stride[o] != size) {
				copy_run(raw[o], size, x[o], stride[o], m, size);
				x[o] = raw[o];
			}
			if (type != compute) {
				isa->cast[type][compute](wide[o], x[o], (size_t)m);
				x[o] = wide[o];
			}
		}
		if (integers)
			whole += (uint64_t)isa->idot[compute](x[0], x[1], (size_t)m);
		else
			pairwise_add(&t, isa->dot[compute](x[0], x[1], (size_t)m));
	}
	if (integers) {
		int64_t r = (int64_t)whole;
		isa->cast[I64][type]((void *)out, &r, 1);
	} else {
		double r = pairwise_total(&t);
		isa->cast[F64][type]((void *)out, &r, 1);
	}
	return 0;
}

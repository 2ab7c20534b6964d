#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "walk.h"

// columns computes w neighbouring softmaxes of n elements each, in tmp, which
// has room for n*w of the compute type. w is 1 where the axis itself is the
// closest dimension: then the elements of tmp are one line.
static void columns(int type, char *out, int64_t out_n, int64_t out_w, const char *in, int64_t in_n, int64_t in_w, int64_t n,
	int64_t w, char *tmp)
{
	int compute = compute_type(type), size = type_size[type], wide = type_size[compute];
	_Alignas(64) char raw[BLOCK * 8], max[BLOCK * 8], narrow[BLOCK * 8];
	double sums[BLOCK];
	int64_t runs = n, run = w; // what lies in a row
	int64_t in_run = in_n, in_step = in_w, out_run = out_n, out_step = out_w;
	if (w == 1) {
		runs = (n + BLOCK - 1) / BLOCK, run = BLOCK;
		in_run = BLOCK * in_n, in_step = in_n, out_run = BLOCK * out_n, out_step = out_n;
	}
	for (int64_t r = 0; r < runs; r++) {
		int64_t m = w == 1 && n - r * BLOCK < BLOCK ? n - r * BLOCK : run;
		const char *x = in + r * in_run;
		char *t = tmp + r * run * wide;
		if (type == compute)
			copy_run(t, size, x, in_step, m, size);
		else {
			copy_run(raw, size, x, in_step, m, size);
			isa->cast[type][compute](t, raw, (size_t)m);
		}
		if (w > 1) {
			if (r == 0)
				memcpy(max, t, (size_t)(m * wide));
			isa->maxrows[compute](max, t, (size_t)m);
		}
	}
	if (w == 1) {
		memcpy(max, tmp, (size_t)wide);
		isa->max[compute](max, tmp, (size_t)n);
		sums[0] = isa->expsum[compute](tmp, max, (size_t)n);
		for (int i = 1; i < BLOCK && i < n; i++)
			sums[i] = sums[0];
	} else {
		memset(sums, 0, sizeof sums);
		for (int64_t r = 0; r < n; r++)
			isa->exprows[compute](tmp + r * w * wide, max, sums, (size_t)w);
	}
	for (int64_t r = 0; r < runs; r++) {
		int64_t m = w == 1 && n - r * BLOCK < BLOCK ? n - r * BLOCK : run;
		char *t = tmp + r * run * wide;
		isa->divrows[compute](t, sums, (size_t)m);
		if (type != compute) {
			isa->cast[compute][type](narrow, t, (size_t)m);
			t = narrow;
		}
		copy_run(out + r * out_run, out_step, t, size, m, size);
	}
}

int cpu_softmax(int type, int ndim, const int64_t *shape, int axis, uintptr_t out, const int64_t *out_strides, uintptr_t in,
	const int64_t *in_strides)
{
	int64_t n = shape[axis];
	layout l = { .n = 0, .noperands = 2, .base = { (char *)in, (char *)out } };
	for (int d = 0; d < ndim; d++)
		if (d != axis) {
			l.shape[l.n] = shape[d];
			l.stride[0][l.n] = in_strides[d];
			l.stride[1][l.n++] = out_strides[d];
		}
	layout_order(&l);
	int64_t near = in_strides[axis] < 0 ? -in_strides[axis] : in_strides[axis];
	int by_columns = l.n > 0 && l.shape[l.n - 1] >= 8 && l.stride[0][l.n - 1] < near;
	int64_t width = by_columns ? l.shape[l.n - 1] : 1, in_step = 0, out_step = 0, most = 1;
	if (by_columns) {
		l.n--;
		in_step = l.stride[0][l.n];
		out_step = l.stride[1][l.n];
		most = width < 256 ? width : 256;
	}
	char *tmp = malloc((size_t)(n * most * type_size[compute_type(type)]));
	if (!tmp)
		return ENOMEM;
	walk i, o;
	walk_start(&i, &l, 0, type_size[type]);
	walk_start(&o, &l, 1, type_size[type]);
	for (int64_t left = layout_count(&l); left > 0; left--) {
		for (int64_t at = 0, w; at < width; at += w) {
			w = width - at < most ? width - at : most;
			columns(type, o.p + at * out_step, out_strides[axis], out_step, i.p + at * in_step, in_strides[axis], in_step, n, w, tmp);
		}
		walk_skip(&i, 1);
		walk_skip(&o, 1);
	}
	free(tmp);
	return 0;
}

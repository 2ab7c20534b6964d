#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "walk.h"

// line computes one softmax of n elements, in tmp where input or output are not
// in a row and of the compute type.
static void line(int type, char *out, int64_t out_step, const char *in, int64_t in_step, int64_t n, char *tmp)
{
	int compute = compute_type(type), size = type_size[type], wide = type_size[compute];
	_Alignas(64) char raw[BLOCK * 8], max[8];
	const char *x = in;
	if (type != compute || in_step != size) {
		x = tmp;
		for (int64_t at = 0, m; at < n; at += m) {
			m = n - at < BLOCK ? n - at : BLOCK;
			copy_run(raw, size, in + at * in_step, in_step, m, size);
			isa->cast[type][compute](tmp + at * wide, raw, (size_t)m);
		}
	}
	char *d = type == compute && out_step == size ? out : tmp;
	memcpy(max, x, (size_t)wide);
	isa->max[compute](max, x, (size_t)n);
	double sum = 0, sums[BLOCK];
	for (int64_t at = 0, m; at < n; at += m) {
		m = n - at < BLOCK ? n - at : BLOCK;
		sum += isa->expsum[compute](d + at * wide, x + at * wide, max, (size_t)m);
	}
	for (int64_t i = 0; i < BLOCK && i < n; i++)
		sums[i] = sum;
	for (int64_t at = 0, m; at < n; at += m) {
		m = n - at < BLOCK ? n - at : BLOCK;
		isa->divrows[compute](d + at * wide, sums, (size_t)m);
		if (d == out)
			continue;
		isa->cast[compute][type](raw, d + at * wide, (size_t)m);
		copy_run(out + at * out_step, out_step, raw, size, m, size);
	}
}

// columns computes w neighbouring softmaxes of n elements each, in tmp, which
// has room for n*w of the compute type.
static void columns(int type, char *out, int64_t out_n, int64_t out_w, const char *in, int64_t in_n, int64_t in_w, int64_t n,
	int64_t w, char *tmp)
{
	int compute = compute_type(type), size = type_size[type], wide = type_size[compute];
	_Alignas(64) char raw[BLOCK * 8], max[BLOCK * 8];
	double sums[BLOCK] = { 0 };
	for (int64_t r = 0; r < n; r++) {
		char *t = tmp + r * w * wide;
		copy_run(raw, size, in + r * in_n, in_w, w, size);
		isa->cast[type][compute](t, raw, (size_t)w);
		if (r == 0)
			memcpy(max, t, (size_t)(w * wide));
		isa->maxrows[compute](max, t, (size_t)w);
	}
	for (int64_t r = 0; r < n; r++)
		isa->exprows[compute](tmp + r * w * wide, max, sums, (size_t)w);
	for (int64_t r = 0; r < n; r++) {
		char *t = tmp + r * w * wide;
		isa->divrows[compute](t, sums, (size_t)w);
		isa->cast[compute][type](raw, t, (size_t)w);
		copy_run(out + r * out_n, out_w, raw, size, w, size);
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
	// Columns also where the lines would be short.
	int by_columns = l.n > 0 && l.shape[l.n - 1] >= 8 && (l.stride[0][l.n - 1] < near || (n <= 16 && l.shape[l.n - 1] > n));
	int64_t width = by_columns ? l.shape[l.n - 1] : 1, in_step = 0, out_step = 0, most = 1;
	if (by_columns) {
		l.n--;
		in_step = l.stride[0][l.n];
		out_step = l.stride[1][l.n];
		most = width < 256 ? width : 256;
	}
	int plain = !by_columns && type == compute_type(type) && in_strides[axis] == type_size[type] && out_strides[axis] == type_size[type];
	char *tmp = plain ? NULL : malloc((size_t)(n * most * type_size[compute_type(type)]));
	if (!plain && !tmp)
		return ENOMEM;
	walk i, o;
	walk_start(&i, &l, 0, type_size[type]);
	walk_start(&o, &l, 1, type_size[type]);
	for (int64_t left = layout_count(&l); left > 0; left--) {
		if (!by_columns)
			line(type, o.p, out_strides[axis], i.p, in_strides[axis], n, tmp);
		for (int64_t at = 0, w; by_columns && at < width; at += w) {
			w = width - at < most ? width - at : most;
			columns(type, o.p + at * out_step, out_strides[axis], out_step, i.p + at * in_step, in_strides[axis], in_step, n, w, tmp);
		}
		walk_skip(&i, 1);
		walk_skip(&o, 1);
	}
	free(tmp);
	return 0;
}

#include "walk.h"

#include <string.h>

void layout_order(layout *l)
{
	for (int d = 0; d < l->n; d++)
		if (l->stride[0][d] < 0)
			for (int o = 0; o < l->noperands; o++) {
				l->base[o] += (l->shape[d] - 1) * l->stride[o][d];
				l->stride[o][d] = -l->stride[o][d];
			}
	for (int i = 1; i < l->n; i++) // insertion keeps equals in order
		for (int j = i; j > 0 && l->stride[0][j - 1] < l->stride[0][j]; j--) {
			int64_t t = l->shape[j];
			l->shape[j] = l->shape[j - 1], l->shape[j - 1] = t;
			for (int o = 0; o < l->noperands; o++) {
				t = l->stride[o][j];
				l->stride[o][j] = l->stride[o][j - 1], l->stride[o][j - 1] = t;
			}
		}
}

int64_t layout_count(const layout *l)
{
	int64_t n = 1;
	for (int d = 0; d < l->n; d++)
		n *= l->shape[d];
	return n;
}

void walk_start(walk *w, const layout *l, int operand, int size)
{
	w->p = l->base[operand];
	w->size = size;
	w->n = 0;
	for (int d = 0; d < l->n; d++) {
		int64_t length = l->shape[d], stride = l->stride[operand][d];
		if (length == 1)
			continue;
		int last = w->n - 1;
		if (last >= 0 && w->stride[last] == length * stride) {
			w->shape[last] *= length;
			w->stride[last] = stride;
		} else {
			w->shape[w->n] = length;
			w->stride[w->n] = stride;
			w->index[w->n++] = 0;
		}
	}
	if (w->n == 0) {
		w->shape[0] = 1;
		w->stride[0] = size;
		w->index[0] = 0;
		w->n = 1;
	}
}

int64_t walk_run(const walk *w)
{
	int last = w->n - 1;
	return w->stride[last] == w->size ? w->shape[last] - w->index[last] : 0;
}

// Goes on by n elements, which the last dimension still has.
static inline void step_run(walk *w, int64_t n)
{
	int d = w->n - 1;
	w->index[d] += n;
	w->p += n * w->stride[d];
	while (w->index[d] == w->shape[d] && d > 0) {
		w->p -= w->shape[d] * w->stride[d];
		w->index[d] = 0;
		d--;
		w->index[d]++;
		w->p += w->stride[d];
	}
}

static inline int64_t run_left(const walk *w, int64_t n)
{
	int64_t left = w->shape[w->n - 1] - w->index[w->n - 1];
	return left < n ? left : n;
}

void walk_skip(walk *w, int64_t n)
{
	while (n) {
		int64_t m = run_left(w, n);
		step_run(w, m);
		n -= m;
	}
}

#define STRIDED(T)                                                                                                     \
	for (int64_t i = 0; i < n; i++)                                                                                \
		*(T *)(d + i * d_stride) = *(const T *)(s + i * s_stride)

// Arrays that others made may have elements at odd addresses.
typedef uint16_t any2 __attribute__((aligned(1), may_alias));
typedef uint32_t any4 __attribute__((aligned(1), may_alias));
typedef uint64_t any8 __attribute__((aligned(1), may_alias));

void copy_run(char *d, int64_t d_stride, const char *s, int64_t s_stride, int64_t n, int size)
{
	if (d_stride == size && s_stride == size) {
		memcpy(d, s, (size_t)(n * size));
		return;
	}
	switch (size) {
	case 1:
		STRIDED(char);
		break;
	case 2:
		STRIDED(any2);
		break;
	case 4:
		STRIDED(any4);
		break;
	default:
		STRIDED(any8);
	}
}

void walk_gather(walk *w, void *to, int64_t n)
{
	char *d = to;
	while (n) {
		int64_t m = run_left(w, n);
		copy_run(d, w->size, w->p, w->stride[w->n - 1], m, w->size);
		step_run(w, m);
		d += m * w->size;
		n -= m;
	}
}

void walk_scatter(walk *w, const void *from, int64_t n)
{
	const char *s = from;
	while (n) {
		int64_t m = run_left(w, n);
		copy_run(w->p, w->stride[w->n - 1], s, w->size, m, w->size);
		step_run(w, m);
		s += m * w->size;
		n -= m;
	}
}

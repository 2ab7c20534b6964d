// A matrix product by blocks: a block of b that stays in the last cache and
// one of a that stays in the second are packed into the order in which tiles
// read them, converted to the compute type on the way.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "walk.h"

enum { K_BLOCK = 320, M_BLOCK = 240, N_BLOCK = 3072 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// pack writes strips of width elements, the length of the strip one after the
// other, with zeros where the matrix ends.
static void pack(char *to, int type, const char *from, int64_t along, int64_t length, int64_t across, int64_t n, int width)
{
	int compute = compute_type(type), size = type_size[type], wide = type_size[compute];
	for (int64_t at = 0; at < n; at += width) {
		int64_t m = least(width, n - at);
		for (int64_t p = 0; p < length; p++, to += width * wide) {
			const char *x = from + at * across + p * along;
			if (type == compute)
				copy_run(to, size, x, across, m, size);
			else {
				uint16_t raw[64];
				copy_run((char *)raw, size, x, across, m, size);
				isa->cast[type][compute](to, raw, (size_t)m);
			}
			if (m < width)
				memset(to + m * wide, 0, (size_t)((width - m) * wide));
		}
	}
}

// product adds packed a (m by k) times packed b (k by n) to c, whose rows are
// stride elements apart.
static void product(int type, int64_t m, int64_t n, int64_t k, const char *a, const char *b, char *c, int64_t stride)
{
	int tm = isa->tile_m[type], tn = isa->tile_n[type], size = type_size[type];
	_Alignas(64) char edge[16 * 64 * 8];
	for (int64_t j = 0; j < n; j += tn)
		for (int64_t i = 0; i < m; i += tm) {
			const char *pa = a + i * k * size, *pb = b + j * k * size;
			char *tile = c + (i * stride + j) * size;
			int64_t rows = least(tm, m - i), columns = least(tn, n - j);
			if (rows == tm && columns == tn) {
				isa->tile[type]((size_t)k, pa, pb, tile, (size_t)stride);
				continue;
			}
			memset(edge, 0, (size_t)(tm * tn * size));
			for (int64_t r = 0; r < rows; r++)
				memcpy(edge + r * tn * size, tile + r * stride * size, (size_t)(columns * size));
			isa->tile[type]((size_t)k, pa, pb, edge, (size_t)tn);
			for (int64_t r = 0; r < rows; r++)
				memcpy(tile + r * stride * size, edge + r * tn * size, (size_t)(columns * size));
		}
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int cpu_matmul(int type, const int64_t *mnk, uintptr_t out, uintptr_t a, uintptr_t b, const int64_t *strides)
{
	int64_t m = mnk[0], n = mnk[1], k = mnk[2];
	int compute = compute_type(type);
	int64_t size = type_size[compute];
	// c is the output itself where its rows can be added to.
	char *c = (char *)out;
	int64_t stride = strides[0] / size;
	int own = type != compute || strides[1] != size || strides[0] < n * size || strides[0] % size;
	int64_t k_block = least(k, K_BLOCK), m_block = least(round_up(m, isa->tile_m[compute]), M_BLOCK),
		n_block = least(round_up(n, isa->tile_n[compute]), N_BLOCK);
	if (own) {
		c = calloc((size_t)(m * n), (size_t)size);
		stride = n;
	} else
		for (int64_t i = 0; i < m; i++)
			memset(c + i * stride * size, 0, (size_t)(n * size));
	char *pa = NULL, *pb = NULL;
	int err = ENOMEM;
	if (!c || posix_memalign((void **)&pa, 64, (size_t)(m_block * k_block * size + 64)) ||
		posix_memalign((void **)&pb, 64, (size_t)(n_block * k_block * size + 64)))
		goto done;
	for (int64_t j = 0; j < n; j += n_block)
		for (int64_t p = 0; p < k; p += k_block) {
			int64_t nj = least(n_block, n - j), kp = least(k_block, k - p);
			pack(pb, type, (char *)b + p * strides[4] + j * strides[5], strides[4], kp, strides[5], nj, isa->tile_n[compute]);
			for (int64_t i = 0; i < m; i += m_block) {
				int64_t mi = least(m_block, m - i);
				pack(pa, type, (char *)a + i * strides[2] + p * strides[3], strides[3], kp, strides[2], mi, isa->tile_m[compute]);
				product(compute, mi, nj, kp, pa, pb, c + (i * stride + j) * size, stride);
			}
		}
	err = 0;
	if (own) {
		const int64_t shape[2] = { m, n }, rows[2] = { n * size, size };
		err = cpu_copy(type, compute, 2, shape, out, strides, (uintptr_t)c, rows);
	}
done:
	free(pa);
	free(pb);
	if (own)
		free(c);
	return err;
}

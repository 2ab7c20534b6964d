// Matrix multiplication in tiles, for any strides; where cuBLAS is present it is used instead.
#include "common.cuh"

typedef TYPE T;
typedef Elem<T>::C C;

struct MatmulParams {
    i64 m, n, k;
    char *out;
    const char *a, *b;
    i64 out_row, out_col, a_row, a_col, b_row, b_col;
};
static_assert(sizeof(MatmulParams) == 96, "kernels/cuda/params.go has this size, too");

// A block of SIDE x SIDE threads computes TILE x TILE elements, each thread EACH x EACH.
const int SIDE = 16, EACH = 4, TILE = SIDE * EACH, DEPTH = 16;

DEVICE f32 multiply_add(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
DEVICE f64 multiply_add(f64 a, f64 b, f64 c) { return fma(a, b, c); }

KERNEL(matmul, MatmulParams) {
    __shared__ C left[DEPTH][TILE + 1], right[DEPTH][TILE + 1];
    int t = threadIdx.x, x = t % SIDE, y = t / SIDE;
    i64 wide = (p.n + TILE - 1) / TILE, tiles = wide * ((p.m + TILE - 1) / TILE);
    for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        i64 row = tile / wide * TILE, col = tile % wide * TILE;
        C sum[EACH][EACH] = {};
        for (i64 depth = 0; depth < p.k; depth += DEPTH) {
            for (int i = t; i < TILE * DEPTH; i += SIDE * SIDE) {
                i64 r = row + i / DEPTH, d = depth + i % DEPTH;
                left[i % DEPTH][i / DEPTH] = r < p.m && d < p.k ? load<T>(p.a + r * p.a_row + d * p.a_col) : C(0);
                i64 c = col + i % TILE;
                d = depth + i / TILE;
                right[i / TILE][i % TILE] = c < p.n && d < p.k ? load<T>(p.b + d * p.b_row + c * p.b_col) : C(0);
            }
            __syncthreads();
            int deep = p.k - depth < DEPTH ? (int)(p.k - depth) : DEPTH;
            for (int d = 0; d < deep; d++) {
                C a[EACH], b[EACH];
                for (int i = 0; i < EACH; i++) a[i] = left[d][y + i * SIDE], b[i] = right[d][x + i * SIDE];
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++) sum[i][j] = multiply_add(a[i], b[j], sum[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) {
                i64 r = row + y + i * SIDE, c = col + x + j * SIDE;
                if (r < p.m && c < p.n) store<T>(p.out + r * p.out_row + c * p.out_col, sum[i][j]);
            }
    }
}

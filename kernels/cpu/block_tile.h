// The inner part of a matrix product: a tile of c in registers, TILE_M rows of
// VECTORS vectors. GCC's vector types stand for the machine's registers.

#define TILE(T, ROWS) \
	typedef T PASTE(vec, T) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias)); \
	static void PASTE(tile, T)(size_t k, const void *av, const void *bv, void *cv, size_t stride) \
	{ \
		enum { W = VECTOR_BYTES / sizeof(T) }; \
		const T *restrict a = av, *restrict b = bv; \
		T *restrict c = cv; \
		PASTE(vec, T) sum[ROWS][2]; \
		_Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (PASTE(vec, T)){0}; \
		for (; k; k--, a += ROWS, b += 2 * W) { \
			PASTE(vec, T) b0 = *(const PASTE(vec, T) *)b, b1 = *(const PASTE(vec, T) *)(b + W); \
			_Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++) \
			{ \
				sum[i][0] += a[i] * b0; \
				sum[i][1] += a[i] * b1; \
			} \
		} \
		_Pragma("GCC unroll 16") for (int i = 0; i < ROWS; i++, c += stride) \
		{ \
			*(PASTE(vec, T) *)c += sum[i][0]; \
			*(PASTE(vec, T) *)(c + W) += sum[i][1]; \
		} \
	}

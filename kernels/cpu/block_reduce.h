// Reductions of blocks. LANES partial results each, so that no addition waits
// for the one before.
enum { LANES = 32 };

// A is the type to add up in, R the result's: unsigned and int64_t, so that
// integers wrap around.
#define SUM_(NAME, T, A, R) \
	static R PASTE(NAME, T)(const void *xv, size_t n) \
	{ \
		const T *x = xv; \
		A lane[LANES] = {0}; \
		size_t i = 0; \
		for (; i + LANES <= n; i += LANES) \
			for (int l = 0; l < LANES; l++) \
				lane[l] += (A)x[i + l]; \
		for (int l = 0; i < n; i++, l++) \
			lane[l] += (A)x[i]; \
		for (int w = LANES / 2; w; w /= 2) \
			for (int l = 0; l < w; l++) \
				lane[l] += lane[l + w]; \
		return (R)lane[0]; \
	}

#define DOT_(NAME, T, A, R) \
	static R PASTE(NAME, T)(const void *xv, const void *yv, size_t n) \
	{ \
		const T *x = xv, *y = yv; \
		A lane[LANES] = {0}; \
		size_t i = 0; \
		for (; i + LANES <= n; i += LANES) \
			for (int l = 0; l < LANES; l++) \
				lane[l] += (A)x[i + l] * (A)y[i + l]; \
		for (int l = 0; i < n; i++, l++) \
			lane[l] += (A)x[i] * (A)y[i]; \
		for (int w = LANES / 2; w; w /= 2) \
			for (int l = 0; l < w; l++) \
				lane[l] += lane[l + w]; \
		return (R)lane[0]; \
	}

// NaN replaces whatever was best, and nothing replaces NaN.
#define EXTREME_(NAME, T, LESS) \
	static inline T PASTE(NAME##_of, T)(T best, T x) { return (x LESS best) | (x != x) ? x : best; } \
	static void PASTE(NAME, T)(void *bv, const void *xv, size_t n) \
	{ \
		T *best = bv, lane[LANES]; \
		const T *x = xv; \
		for (int l = 0; l < LANES; l++) \
			lane[l] = *best; \
		size_t i = 0; \
		for (; i + LANES <= n; i += LANES) \
			for (int l = 0; l < LANES; l++) \
				lane[l] = PASTE(NAME##_of, T)(lane[l], x[i + l]); \
		for (; i < n; i++) \
			lane[0] = PASTE(NAME##_of, T)(lane[0], x[i]); \
		for (int l = 1; l < LANES; l++) \
			lane[0] = PASTE(NAME##_of, T)(lane[0], lane[l]); \
		*best = lane[0]; \
	} \
	static void PASTE(NAME##rows, T)(void *av, const void *xv, size_t n) \
	{ \
		T *restrict acc = av; \
		const T *restrict x = xv; \
		for (size_t i = 0; i < n; i++) \
			acc[i] = PASTE(NAME##_of, T)(acc[i], x[i]); \
	}

#define SUMROWS_(NAME, T, A) \
	static void PASTE(NAME, T)(void *av, const void *xv, size_t n) \
	{ \
		A *restrict acc = av; \
		const T *restrict x = xv; \
		for (size_t i = 0; i < n; i++) \
			acc[i] += (A)x[i]; \
	}

// The parts of softmax.
#define SOFTMAX_(T, EXPONENTIAL) \
	static double PASTE(expsum, T)(void *dv, const void *xv, const void *max, size_t n) \
	{ \
		T *d = dv, m = *(const T *)max; \
		const T *x = xv; \
		APART for (size_t i = 0; i < n; i++) \
			d[i] = EXPONENTIAL(x[i] - m); \
		return PASTE(sum, T)(d, n); \
	} \
	static void PASTE(exprows, T)(void *xv, const void *max, double *restrict sums, size_t n) \
	{ \
		T *restrict x = xv; \
		const T *restrict m = max; \
		for (size_t i = 0; i < n; i++) \
			x[i] = EXPONENTIAL(x[i] - m[i]); \
		for (size_t i = 0; i < n; i++) \
			sums[i] += x[i]; \
	} \
	static void PASTE(divrows, T)(void *xv, const double *restrict sums, size_t n) \
	{ \
		T *restrict x = xv; \
		for (size_t i = 0; i < n; i++) \
			x[i] = x[i] / (T)sums[i]; \
	}

#define ANY(T) SUM_(sum, T, double, double) SUMROWS_(sumrows, T, double) EXTREME_(min, T, <) EXTREME_(max, T, >)
#define FLOATING(T) ANY(T) DOT_(dot, T, double, double)
#define INTEGER(T) \
	ANY(T) SUM_(isum, T, uint64_t, int64_t) SUMROWS_(isumrows, T, uint64_t) DOT_(idot, T, uint64_t, int64_t)

FLOATING(f32_t)
FLOATING(f64_t)
INTEGER(i32_t)
INTEGER(i64_t)
INTEGER(u8_t)
SOFTMAX_(f32_t, exp_f32)
SOFTMAX_(f64_t, exp_f64)

#define PER_TYPE(NAME) \
	{ \
		[F32] = PASTE(NAME, f32_t), [F64] = PASTE(NAME, f64_t), [I32] = PASTE(NAME, i32_t), \
		[I64] = PASTE(NAME, i64_t), [U8] = PASTE(NAME, u8_t), \
	}
#define PER_FLOAT(NAME) { [F32] = PASTE(NAME, f32_t), [F64] = PASTE(NAME, f64_t) }
#define PER_INT(NAME) { [I32] = PASTE(NAME, i32_t), [I64] = PASTE(NAME, i64_t), [U8] = PASTE(NAME, u8_t) }

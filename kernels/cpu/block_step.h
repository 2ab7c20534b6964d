// The elementwise steps. The output may be one of the inputs: no element is
// read after another was written, which APART tells the compiler.

#define STEP(T, NAME, SETUP, RESULT) \
	static void PASTE(NAME, T)(void *dv, const void *xv, const void *yv, double s, double t, size_t n) \
	{ \
		T *d = dv; \
		const T *x = xv, *y = yv; \
		(void)y, (void)s, (void)t; \
		SETUP; \
		APART for (size_t i = 0; i < n; i++) d[i] = (RESULT); \
	}

// axpy in two loops: as one it could become a fused multiply-add, which rounds
// once where numpy and the other devices round twice.
#define AXPY_(T, U, SETUP) \
	static void PASTE(axpy, T)(void *dv, const void *xv, const void *yv, double s, double t, size_t n) \
	{ \
		T *d = dv, part[256]; \
		const T *x = xv, *y = yv; \
		(void)t; \
		SETUP; \
		for (size_t i = 0; i < n; i += 256) { \
			size_t m = n - i < 256 ? n - i : 256; \
			for (size_t j = 0; j < m; j++) \
				part[j] = (T)((U)x[i + j] * a); \
			APART for (size_t j = 0; j < m; j++) d[i + j] = (T)((U)part[j] + (U)y[i + j]); \
		} \
	}

// U is the type to compute in: unsigned for integers, so that they wrap around.
#define STEPS(T, U, SCALAR, CLIP_SCALAR) \
	STEP(T, scale, U a = (U)SCALAR(s), (T)((U)x[i] * a)) \
	STEP(T, adds, U a = (U)SCALAR(s), (T)((U)x[i] + a)) \
	STEP(T, add, , (T)((U)x[i] + (U)y[i])) \
	STEP(T, sub, , (T)((U)x[i] - (U)y[i])) \
	STEP(T, rsub, , (T)((U)y[i] - (U)x[i])) \
	STEP(T, mul, , (T)((U)x[i] * (U)y[i])) \
	AXPY_(T, U, U a = (U)SCALAR(s)) \
	static inline T PASTE(clipped, T)(T x, T lo, T hi) \
	{ \
		x = x < lo ? lo : x; \
		return x > hi ? hi : x; \
	} \
	STEP(T, clip, T lo = CLIP_SCALAR(s); T hi = CLIP_SCALAR(t), PASTE(clipped, T)(x[i], lo, hi)) \
	STEP(T, relu, , x[i] < 0 ? (T)0 : x[i])

#define SAME(s) (s)
STEPS(f32_t, f32_t, SAME, SAME)
STEPS(f64_t, f64_t, SAME, SAME)
STEPS(i32_t, uint32_t, (int64_t), to_i32)
STEPS(i64_t, uint64_t, (int64_t), to_i64)
STEPS(u8_t, uint8_t, (int64_t), to_u8)
STEP(f32_t, div, , x[i] / y[i])
STEP(f64_t, div, , x[i] / y[i])
STEP(f32_t, exp, , exp_f32(x[i]))
STEP(f64_t, exp, , exp_f64(x[i]))

#define STEP_TABLE(T) \
	[SCALE] = PASTE(scale, T), [ADDS] = PASTE(adds, T), [ADD] = PASTE(add, T), [SUB] = PASTE(sub, T), \
	[RSUB] = PASTE(rsub, T), [MUL] = PASTE(mul, T), [AXPY] = PASTE(axpy, T), [CLIP] = PASTE(clip, T), \
	[RELU] = PASTE(relu, T)

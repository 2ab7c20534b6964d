// Conversions between all pairs of types.

#define CAST(FROM, TO, RESULT) \
	static void PASTE(PASTE(cast, FROM), TO)(void *dv, const void *xv, size_t n) \
	{ \
		TO##_t *restrict d = dv; \
		const FROM##_t *restrict xs = xv; \
		for (size_t i = 0; i < n; i++) { \
			FROM##_t x = xs[i]; \
			d[i] = (RESULT); \
		} \
	}

#define FROM_FLOAT(FROM, WIDEN) \
	CAST(FROM, f32, (float)WIDEN(x)) \
	CAST(FROM, f64, (double)WIDEN(x)) \
	CAST(FROM, i32, to_i32(WIDEN(x))) \
	CAST(FROM, i64, to_i64(WIDEN(x))) \
	CAST(FROM, u8, to_u8(WIDEN(x)))
#define FROM_INT(FROM) \
	CAST(FROM, f16, to_f16((float)x)) \
	CAST(FROM, bf16, to_bf16((float)x)) \
	CAST(FROM, f32, (float)x) \
	CAST(FROM, f64, (double)x) \
	CAST(FROM, i32, (int32_t)x) \
	CAST(FROM, i64, (int64_t)x) \
	CAST(FROM, u8, (uint8_t)x)

#define AS_IS(x) (x)
FROM_FLOAT(f16, from_f16)
FROM_FLOAT(bf16, from_bf16)
FROM_FLOAT(f32, AS_IS)
FROM_FLOAT(f64, AS_IS)
FROM_INT(i32)
FROM_INT(i64)
FROM_INT(u8)
CAST(f16, f16, x)
CAST(f16, bf16, to_bf16(from_f16(x)))
CAST(bf16, f16, to_f16(from_bf16(x)))
CAST(bf16, bf16, x)
CAST(f32, f16, to_f16(x))
CAST(f32, bf16, to_bf16(x))
CAST(f64, f16, to_f16(to_odd(x)))
CAST(f64, bf16, to_bf16(to_odd(x)))

#define CAST_ROW(FROM) \
	{ \
		[F16] = PASTE(PASTE(cast, FROM), f16), [BF16] = PASTE(PASTE(cast, FROM), bf16), \
		[F32] = PASTE(PASTE(cast, FROM), f32), [F64] = PASTE(PASTE(cast, FROM), f64), \
		[I32] = PASTE(PASTE(cast, FROM), i32), [I64] = PASTE(PASTE(cast, FROM), i64), \
		[U8] = PASTE(PASTE(cast, FROM), u8), \
	}

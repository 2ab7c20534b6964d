// Numbers of 16 bits, and conversions, without branches so that loops over
// them become SIMD.
#ifndef BITS_H
#define BITS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t f16_t, bf16_t; // told apart by name only
typedef float f32_t;
typedef double f64_t;
typedef int32_t i32_t;
typedef int64_t i64_t;
typedef uint8_t u8_t;

static inline float as_float(uint32_t b)
{
	float f;
	memcpy(&f, &b, 4);
	return f;
}

static inline uint32_t float_bits(float f)
{
	uint32_t b;
	memcpy(&b, &f, 4);
	return b;
}

static inline double as_double(uint64_t b)
{
	double f;
	memcpy(&f, &b, 8);
	return f;
}

static inline uint64_t double_bits(double f)
{
	uint64_t b;
	memcpy(&b, &f, 8);
	return b;
}

static inline float from_f16(uint16_t h)
{
	uint32_t magnitude = h & 0x7fffu, shifted = magnitude << 13;
	uint32_t finite = float_bits(as_float(shifted) * 0x1p112f); // moves the exponent's bias; exact for subnormals too
	return as_float((magnitude >= 0x7c00u ? shifted | 0x7f800000u : finite) | ((uint32_t)(h & 0x8000u) << 16));
}

// Rounds to nearest, ties to even.
static inline uint16_t to_f16(float f)
{
	uint32_t b = float_bits(f), x = b & 0x7fffffffu;
	uint32_t special = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;
	uint32_t small = float_bits(as_float(x < 0x38800000u ? x : 0) + 0.5f) - 0x3f000000u; // the sum's last bit is 2^-24
	uint32_t normal = (x - 0x38000000u + 0xfffu + (x >> 13 & 1u)) >> 13;
	uint32_t r = x >= 0x47800000u ? special : x < 0x38800000u ? small : normal;
	return (uint16_t)(r | (b >> 16 & 0x8000u));
}

static inline float from_bf16(uint16_t h) { return as_float((uint32_t)h << 16); }

static inline uint16_t to_bf16(float f)
{
	uint32_t b = float_bits(f);
	uint32_t rounded = (b + 0x7fffu + (b >> 16 & 1u)) >> 16, nan = b >> 16 | 0x40u;
	return (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

// A float that rounds to 16 bits as d itself does: cut off, with the last bit
// set where something was cut off.
static inline float to_odd(double d)
{
	float f = (float)d;
	uint32_t b = float_bits(f);
	double back = (double)f;
	uint32_t away = fabs(back) > fabs(d) ? b - 1 : b + 1;
	uint32_t odd = b & 1u ? b : away;
	return as_float(back == d || d != d ? b : odd);
}

// Floating point to integers: towards zero, saturating, NaN becomes 0.
static inline int32_t to_i32(double d)
{
	d = d != d ? 0 : d;
	d = d < -0x1p31 ? -0x1p31 : d;
	d = d > 2147483647.0 ? 2147483647.0 : d;
	return (int32_t)d;
}

static inline uint8_t to_u8(double d)
{
	d = d > 0 ? d : 0; // NaN too
	d = d > 255 ? 255 : d;
	return (uint8_t)(int32_t)d;
}

static inline int64_t to_i64(double d)
{
	int over = d >= 0x1p63;
	d = d != d || over ? 0 : d;
	d = d < -0x1p63 ? -0x1p63 : d;
	return over ? INT64_MAX : (int64_t)d;
}

#endif

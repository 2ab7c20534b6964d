// e to the power of x: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial for r,
// and 2^n in two factors so that results below the least normal number round
// once. Within 2 units in the last place.

static inline float exp_f32(float x)
{
	x = x < -104.f ? -104.f : x; // NaN passes both
	x = x > 89.f ? 89.f : x;
	const float shift = 0x1.8p23f; // adding it rounds to an integer, in the low bits
	float moved = x * 0x1.715476p+0f + shift;
	int32_t n = (int32_t)(float_bits(moved) - float_bits(shift));
	float whole = moved - shift;
	float r = x - whole * 0x1.62e4p-1f; // ln 2 in two parts, the first with few enough bits for an exact product
	r = r - whole * 0x1.7f7d1cp-20f;
	// (e^r - 1 - r) / r^2, interpolated at Chebyshev's points.
	float p = 0x1.a12516p-13f;
	p = p * r + 0x1.6d434ep-10f;
	p = p * r + 0x1.1110e0p-7f;
	p = p * r + 0x1.5554e8p-5f;
	p = p * r + 0x1.555556p-3f;
	p = p * r + 0.5f;
	p = p * (r * r) + r;
	p = p + 1.f;
	int32_t half = n >> 1;
	return p * as_float((uint32_t)(half + 127) << 23) * as_float((uint32_t)(n - half + 127) << 23);
}

static inline double exp_f64(double x)
{
	x = x < -746. ? -746. : x;
	x = x > 710. ? 710. : x;
	const double shift = 0x1.8p52;
	double moved = x * 0x1.71547652b82fep+0 + shift;
	int64_t n = (int64_t)(double_bits(moved) - double_bits(shift));
	double whole = moved - shift;
	double r = x - whole * 0x1.62e42fee00000p-1;
	r = r - whole * 0x1.a39ef35793c76p-33;
	// The series up to r^13 / 13!: its rest is below 2^-57 of the result.
	double p = 0x1.6124613a86d09p-33;
	p = p * r + 0x1.1eed8eff8d898p-29;
	p = p * r + 0x1.ae64567f544e4p-26;
	p = p * r + 0x1.27e4fb7789f5cp-22;
	p = p * r + 0x1.71de3a556c734p-19;
	p = p * r + 0x1.a01a01a01a01ap-16;
	p = p * r + 0x1.a01a01a01a01ap-13;
	p = p * r + 0x1.6c16c16c16c17p-10;
	p = p * r + 0x1.1111111111111p-7;
	p = p * r + 0x1.5555555555555p-5;
	p = p * r + 0x1.5555555555555p-3;
	p = p * r + 0.5;
	p = p * (r * r) + r;
	p = p + 1.;
	int64_t half = n >> 1;
	return p * as_double((uint64_t)(half + 1023) << 52) * as_double((uint64_t)(n - half + 1023) << 52);
}

#include "isa.h"

const struct isa *isa = &isa_base;

const char *cpu_use(int set)
{
	const struct isa *sets[] = {
#ifdef __x86_64__
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
				__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")
			? &isa_avx512
			: NULL,
		__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
				__builtin_cpu_supports("bmi2")
			? &isa_avx2
			: NULL,
#endif
		&isa_base,
	};
	if (set < 0 || set >= (int)(sizeof sets / sizeof *sets) || !sets[set])
		return NULL;
	isa = sets[set];
	return isa->name;
}

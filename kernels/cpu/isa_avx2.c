#ifdef __x86_64__
#pragma GCC target("avx2,fma,bmi,bmi2")
#define ISA isa_avx2
#define ISA_NAME "avx2"
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#include "isa_table.h"
#endif

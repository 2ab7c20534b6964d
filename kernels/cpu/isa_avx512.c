#ifdef __x86_64__
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define ISA isa_avx512
#define ISA_NAME "avx512"
#define VECTOR_BYTES 64
#define TILE_ROWS 12
#include "isa_table.h"
#endif

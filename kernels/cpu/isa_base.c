// What every processor of this kind has: SSE2 on amd64, NEON on arm64.
#define ISA isa_base
#define ISA_NAME "base"
#define VECTOR_BYTES 16
#ifdef __aarch64__
#define TILE_ROWS 12
#else
#define TILE_ROWS 6
#endif
#include "isa_table.h"

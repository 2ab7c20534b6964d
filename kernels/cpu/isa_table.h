// One instruction set's loops and their table. The including file says which:
// ISA, ISA_NAME, VECTOR_BYTES, TILE_ROWS.
#include "isa.h"

#include "bits.h"
#include "block_exp.h"
// clang-format off: the parts build on each other
#include "block_step.h"
#include "block_cast.h"
#include "block_reduce.h"
#include "block_tile.h"

TILE(f32_t, TILE_ROWS)
TILE(f64_t, TILE_ROWS)

const struct isa ISA = {
	.name = ISA_NAME,
	.step = {
		[F32] = { STEP_TABLE(f32_t), [DIV] = div_f32_t, [EXP] = exp_f32_t },
		[F64] = { STEP_TABLE(f64_t), [DIV] = div_f64_t, [EXP] = exp_f64_t },
		[I32] = { STEP_TABLE(i32_t) },
		[I64] = { STEP_TABLE(i64_t) },
		[U8] = { STEP_TABLE(u8_t) },
	},
	.cast = {
		[F16] = CAST_ROW(f16), [BF16] = CAST_ROW(bf16), [F32] = CAST_ROW(f32), [F64] = CAST_ROW(f64),
		[I32] = CAST_ROW(i32), [I64] = CAST_ROW(i64), [U8] = CAST_ROW(u8),
	},
	.sum = PER_TYPE(sum),
	.isum = PER_INT(isum),
	.min = PER_TYPE(min),
	.max = PER_TYPE(max),
	.sumrows = PER_TYPE(sumrows),
	.isumrows = PER_INT(isumrows),
	.minrows = PER_TYPE(minrows),
	.maxrows = PER_TYPE(maxrows),
	.dot = PER_FLOAT(dot),
	.idot = PER_INT(idot),
	.expsum = PER_FLOAT(expsum),
	.exprows = PER_FLOAT(exprows),
	.divrows = PER_FLOAT(divrows),
	.tile = PER_FLOAT(tile),
	.tile_m = { [F32] = TILE_ROWS, [F64] = TILE_ROWS },
	.tile_n = { [F32] = 2 * VECTOR_BYTES / 4, [F64] = 2 * VECTOR_BYTES / 8 },
};

package backend

// Op is one elementwise step.
type Op uint8

// The elementwise steps. x is the running value, s and t are scalars of the
// step, y is the element of one of the program's further inputs.
const (
	Scale Op = iota + 1 // x * s; mul_two is Scale by 2
	AddS                // x + s
	Add                 // x + y
	Sub                 // x - y
	RSub                // y - x
	Mul                 // x * y
	Div                 // x / y; floating point only
	Axpy                // s*x + y
	Clip                // min(max(x, s), t); NaN stays NaN
	Exp                 // floating point only
	Relu                // max(x, 0); NaN stays NaN
)

// Step is one operation of a Program.
type Step struct {
	Op   Op
	S, T float64 // scalars; exact for I32 and U8, for I64 within ±2^53, which kernels checks
	In   int     // which input is y, from 1; 0 where the operation has none
}

// Program is a chain of elementwise steps. It computes in the compute type of
// the output: F32 for F16 and BF16, else the type itself; it rounds once, at
// the end, when the chain is fused. All views have the output's shape after
// broadcasting (stride 0) and the output's data type.
type Program []Step

// ReduceOp is a reduction.
type ReduceOp uint8

// The reductions. NaN wins in Min and Max as in numpy. Sum and Mean of F16,
// BF16 and F32 accumulate pairwise or in F64; integers sum in I64.
const (
	Sum ReduceOp = iota + 1
	Min
	Max
	Mean
)

package kernels

// one runs a single step. The common case of a step without scalars, or of
// floating point, needs no memory of its own for the program.
func one(op string, s Step, out *Array, in ...*Array) (*Array, error) {
	f := Fused{program: Program{s}, inputs: len(in)}
	switch s.Op {
	case OpScale, OpAddS, OpAxpy, OpClip:
		f.scalars = true
	case OpDiv, OpExp:
		f.float = true
	}
	return f.run(op, out, in)
}

func inPlace(op string, s Step, out *Array, in ...*Array) error {
	if out == nil {
		return out.hold(op) // says so
	}
	_, err := one(op, s, out, in...)
	return err
}

// MulTwo is 2*x.
func MulTwo(x *Array) (*Array, error) { return one("mul_two", Step{Op: OpScale, S: 2}, nil, x) }

// MulTwoInPlace doubles x.
func MulTwoInPlace(x *Array) error { return inPlace("mul_two", Step{Op: OpScale, S: 2}, x, x) }

// Scale is s*x.
func Scale(x *Array, s float64) (*Array, error) { return one("scale", Step{Op: OpScale, S: s}, nil, x) }

// ScaleInPlace multiplies x by s.
func ScaleInPlace(x *Array, s float64) error { return inPlace("scale", Step{Op: OpScale, S: s}, x, x) }

// AddScalar is x+s.
func AddScalar(x *Array, s float64) (*Array, error) {
	return one("add", Step{Op: OpAddS, S: s}, nil, x)
}

// AddScalarInPlace adds s to x.
func AddScalarInPlace(x *Array, s float64) error {
	return inPlace("add", Step{Op: OpAddS, S: s}, x, x)
}

// Add is x+y.
func Add(x, y *Array) (*Array, error) { return one("add", Step{Op: OpAdd, In: 1}, nil, x, y) }

// AddInPlace adds y to x.
func AddInPlace(x, y *Array) error { return inPlace("add", Step{Op: OpAdd, In: 1}, x, x, y) }

// Sub is x-y.
func Sub(x, y *Array) (*Array, error) { return one("sub", Step{Op: OpSub, In: 1}, nil, x, y) }

// SubInPlace subtracts y from x.
func SubInPlace(x, y *Array) error { return inPlace("sub", Step{Op: OpSub, In: 1}, x, x, y) }

// Mul is x*y.
func Mul(x, y *Array) (*Array, error) { return one("mul", Step{Op: OpMul, In: 1}, nil, x, y) }

// MulInPlace multiplies x by y.
func MulInPlace(x, y *Array) error { return inPlace("mul", Step{Op: OpMul, In: 1}, x, x, y) }

// Div is x/y, of floating point.
func Div(x, y *Array) (*Array, error) { return one("div", Step{Op: OpDiv, In: 1}, nil, x, y) }

// DivInPlace divides x by y.
func DivInPlace(x, y *Array) error { return inPlace("div", Step{Op: OpDiv, In: 1}, x, x, y) }

// Axpy is s*x+y.
func Axpy(s float64, x, y *Array) (*Array, error) {
	return one("axpy", Step{Op: OpAxpy, S: s, In: 1}, nil, x, y)
}

// AxpyInPlace adds s*x to y.
func AxpyInPlace(s float64, x, y *Array) error {
	return inPlace("axpy", Step{Op: OpAxpy, S: s, In: 1}, y, x, y)
}

// Clip is min(max(x, lo), hi); NaN stays NaN. Infinite bounds are none.
func Clip(x *Array, lo, hi float64) (*Array, error) {
	return one("clip", Step{Op: OpClip, S: lo, T: hi}, nil, x)
}

// ClipInPlace clips x.
func ClipInPlace(x *Array, lo, hi float64) error {
	return inPlace("clip", Step{Op: OpClip, S: lo, T: hi}, x, x)
}

// Exp is e to the power of x, of floating point.
func Exp(x *Array) (*Array, error) { return one("exp", Step{Op: OpExp}, nil, x) }

// ExpInPlace replaces x by e to its power.
func ExpInPlace(x *Array) error { return inPlace("exp", Step{Op: OpExp}, x, x) }

// Relu is max(x, 0); NaN stays NaN.
func Relu(x *Array) (*Array, error) { return one("relu", Step{Op: OpRelu}, nil, x) }

// ReluInPlace replaces negative elements of x by 0.
func ReluInPlace(x *Array) error { return inPlace("relu", Step{Op: OpRelu}, x, x) }

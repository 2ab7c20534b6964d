package kernels

import (
	"fmt"
	"math"
	"slices"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Program is a chain of elementwise steps.
type Program = backend.Program

// Step is one operation of a Program.
type Step = backend.Step

// Op is the kind of a step.
type Op = backend.Op

// The kinds of steps.
const (
	OpScale = backend.Scale
	OpAddS  = backend.AddS
	OpAdd   = backend.Add
	OpSub   = backend.Sub
	OpRSub  = backend.RSub
	OpMul   = backend.Mul
	OpDiv   = backend.Div
	OpAxpy  = backend.Axpy
	OpClip  = backend.Clip
	OpExp   = backend.Exp
	OpRelu  = backend.Relu
)

// maxInputs is the most arrays that a chain takes; maxSteps its length.
const (
	maxInputs = 16
	maxSteps  = 64
)

// Fused is a chain of steps that was checked, for repeated use. It makes one
// pass over memory.
type Fused struct {
	program Program
	inputs  int
	scalars bool // whether a step's scalars need a check against the data type
	float   bool // whether a step needs floating point
}

// Fuse checks a chain. x is the running value, starting with the first array;
// a step's In is the place of its array among the others, from 1.
func Fuse(steps ...Step) (*Fused, error) { return compileProgram("fuse", steps) }

func compileProgram(op string, p Program) (*Fused, error) {
	if len(p) == 0 || len(p) > maxSteps {
		return nil, &ProgramError{op, fmt.Sprintf("%d steps; a chain has 1 to %d", len(p), maxSteps)}
	}
	f := &Fused{program: slices.Clone(p), inputs: 1}
	for i, s := range p {
		takes := false
		switch s.Op {
		case OpAdd, OpSub, OpRSub, OpMul, OpDiv:
			takes = true
		case OpAxpy:
			takes, f.scalars = true, true
		case OpScale, OpAddS, OpClip:
			f.scalars = true
		case OpExp, OpRelu:
		default:
			return nil, &ProgramError{op, fmt.Sprintf("step %d: %d is no operation", i, s.Op)}
		}
		f.float = f.float || s.Op == OpDiv || s.Op == OpExp
		if takes && (s.In < 1 || s.In >= maxInputs) {
			return nil, &ProgramError{op, fmt.Sprintf("step %d: input %d; a chain's further inputs are 1 to %d", i, s.In, maxInputs-1)}
		}
		if !takes && s.In != 0 {
			return nil, &ProgramError{op, fmt.Sprintf("step %d takes no input, not %d", i, s.In)}
		}
		f.inputs = max(f.inputs, s.In+1)
	}
	return f, nil
}

// Inputs is how many arrays the chain takes, x included.
func (f *Fused) Inputs() int { return f.inputs }

// Apply runs the chain and makes a new array.
func (f *Fused) Apply(in ...*Array) (*Array, error) { return f.run("fused chain", nil, in) }

// ApplyTo runs the chain and writes the result to out, which may be one of in.
func (f *Fused) ApplyTo(out *Array, in ...*Array) error {
	if out == nil {
		return &ProgramError{"fused chain", "the result's array is nil"}
	}
	_, err := f.run("fused chain", out, in)
	return err
}

// lower returns the program for a data type, with scalars that fit it.
func (f *Fused) lower(op string, t DType) (Program, error) {
	if f.float && !t.Float() {
		return nil, dtypeErr(op, "division and exp need floating point, not %s; cast the array to float32 or float64", t)
	}
	if !f.scalars {
		return f.program, nil
	}
	p := f.program
	for i, s := range p {
		low := s
		var err error
		switch s.Op {
		case OpScale, OpAddS, OpAxpy:
			err = fits(op, s.S, t)
		case OpClip:
			low, err = clipStep(op, s, t)
		}
		if err != nil {
			return nil, err
		}
		if low.Op != s.Op || low.S != s.S || low.T != s.T {
			if &p[0] == &f.program[0] {
				p = slices.Clone(p)
			}
			p[i] = low
		}
	}
	return p, nil
}

// fits refuses scalars that an integer type has not.
func fits(op string, v float64, t DType) error {
	if t.Float() {
		return nil
	}
	if v != math.Trunc(v) || math.IsInf(v, 0) {
		return &ScalarError{op, v, t, "it is no integer; cast the array to floating point"}
	}
	if lo, hi := limits(t); v < lo || v > hi {
		return &ScalarError{op, v, t, fmt.Sprintf("it is outside [%.0f, %.0f]", lo, hi)}
	}
	return nil
}

// clipStep makes bounds that a device can take: NaN makes everything NaN, as
// in numpy, and an infinite bound of integers is no bound.
func clipStep(op string, s Step, t DType) (Step, error) {
	if math.IsNaN(s.S) || math.IsNaN(s.T) {
		if !t.Float() {
			return s, &ScalarError{op, math.NaN(), t, "integers have no NaN"}
		}
		return Step{Op: OpAddS, S: math.NaN()}, nil
	}
	if t.Float() {
		return s, nil
	}
	lo, hi := limits(t)
	for _, b := range []*float64{&s.S, &s.T} {
		switch {
		case math.IsInf(*b, 0) && t == I64: // the device saturates
		case math.IsInf(*b, -1):
			*b = lo
		case math.IsInf(*b, 1):
			*b = hi
		default:
			if err := fits(op, *b, t); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

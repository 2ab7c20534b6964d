package kernels

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func TestOperations_WrongArguments_TypedErrors(t *testing.T) {
	cpu, far := CPU(), fakeDevice(t)
	f := must(New(cpu, F32, 2, 3))(t)
	g := must(New(cpu, F32, 4))(t)
	d := must(New(cpu, F64, 2, 3))(t)
	i := must(New(cpu, I32, 2, 3))(t)
	u := must(New(cpu, U8, 3))(t)
	away := must(New(far, F32, 2, 3))(t)
	none := must(New(cpu, F32, 0, 3))(t)
	closed := must(New(cpu, F32, 2, 3))(t)
	_ = closed.Free()
	locked := must(f.AsReadOnly())(t)
	wide := must(g.Broadcast(3, 4))(t)
	scalar := must(New(cpu, F32))(t)
	drop := func(_ *Array, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		kind any
		says string
	}{
		"add of shapes":            {drop(Add(f, g)), new(*ShapeError), "do not broadcast"},
		"add in place grows":       {AddInPlace(scalar, f), new(*ShapeError), "to be written to []"},
		"add of types":             {drop(Add(f, d)), new(*DTypeError), "cast"},
		"add of devices":           {drop(Add(f, away)), new(*DeviceError), "fake"},
		"add of nil":               {drop(Add(f, nil)), ErrClosed, "nil"},
		"nil add":                  {drop(Add(nil, f)), ErrClosed, "nil"},
		"nil in place":             {AddInPlace(nil, f), ErrClosed, "nil"},
		"add of freed":             {drop(Add(f, closed)), ErrClosed, "freed"},
		"into freed":               {MulTwoInPlace(closed), ErrClosed, "freed"},
		"copy of freed":            {drop(closed.Copy()), ErrClosed, "copy"},
		"view of freed":            {drop(closed.Slice(0, 0, 1, 1)), ErrClosed, "slice"},
		"freed to device":          {drop(closed.To(far)), ErrClosed, "to"},
		"in place on read-only":    {MulTwoInPlace(locked), ErrReadOnly, "read-only"},
		"in place on broadcast":    {MulTwoInPlace(wide), ErrReadOnly, "read-only"},
		"axpy onto read-only":      {AxpyInPlace(2, f, locked), ErrReadOnly, "axpy"},
		"assign to read-only":      {locked.Assign(f), ErrReadOnly, "assign"},
		"division of integers":     {drop(Div(i, i)), new(*DTypeError), "cast"},
		"exp of integers":          {drop(Exp(i)), new(*DTypeError), "cast"},
		"half of integers":         {drop(Scale(i, 0.5)), new(*ScalarError), "no integer"},
		"NaN of integers":          {drop(Scale(i, math.NaN())), new(*ScalarError), "no integer"},
		"clip of integers to NaN":  {drop(Clip(i, math.NaN(), 1)), new(*ScalarError), "NaN"},
		"scalar beyond int32":      {drop(AddScalar(i, 1<<31)), new(*ScalarError), "outside"},
		"negative for uint8":       {drop(AddScalar(u, -1)), new(*ScalarError), "outside"},
		"min of nothing":           {drop(Min(none)), new(*ShapeError), "no elements"},
		"max of an empty axis":     {drop(MaxAxis(none, 0)), new(*ShapeError), "no elements"},
		"axis":                     {drop(SumAxis(f, 2)), new(*ShapeError), "axis 2"},
		"axis of a scalar":         {drop(Softmax(scalar, 0)), new(*ShapeError), "axis 0"},
		"softmax of integers":      {drop(Softmax(i, 0)), new(*DTypeError), "cast"},
		"dot of matrices":          {drop(Dot(f, f)), new(*ShapeError), "one dimension"},
		"dot of types":             {drop(Dot(u, must(New(cpu, I32, 3))(t))), new(*DTypeError), "cast"},
		"matmul of shapes":         {drop(MatMul(f, f)), new(*ShapeError), "(m, k)"},
		"matmul of integers":       {drop(MatMul(i, must(i.Transpose())(t))), new(*DTypeError), "cast"},
		"matmul of types":          {drop(MatMul(f, must(d.Transpose())(t))), new(*DTypeError), "cast"},
		"reshape":                  {drop(f.Reshape(4)), new(*ShapeError), "do not fill"},
		"reshape to open":          {drop(f.Reshape(-1, 4)), new(*ShapeError), "do not fill"},
		"reshape needs a copy":     {drop(must(f.Transpose())(t).Reshape(6)), new(*ShapeError), "copy"},
		"broadcast":                {drop(f.Broadcast(2, 2)), new(*ShapeError), "broadcast"},
		"broadcast shrinks":        {drop(f.Broadcast(3)), new(*ShapeError), "broadcast"},
		"transpose":                {drop(f.Transpose(0, 0)), new(*ShapeError), "twice"},
		"step":                     {drop(f.Slice(0, 0, 1, 0)), new(*ShapeError), "step"},
		"negative shape":           {drop(New(cpu, F32, -1)), new(*ShapeError), "negative"},
		"huge shape":               {drop(New(cpu, F32, 1<<40, 1<<40)), new(*ShapeError), "larger"},
		"too many dimensions":      {drop(New(cpu, F32, make([]int, 33)...)), new(*ShapeError), "at most 32"},
		"more than there is":       {drop(Empty(cpu, U8, 1<<50)), new(*OutOfMemoryError), "out of memory"},
		"no type":                  {drop(New(cpu, 99, 1)), new(*DTypeError), "no data type"},
		"cast to no type":          {drop(f.Cast(0)), new(*DTypeError), "no data type"},
		"no device":                {drop(New(nil, F32)), new(*DeviceError), "nil"},
		"slice of another type":    {second(ToSlice[int32](f)), new(*DTypeError), "cast"},
		"slice of another length":  {drop(FromSlice(cpu, []int32{1}, 2)), new(*ShapeError), "elements"},
		"item of many":             {second(Item[float32](f)), new(*ShapeError), "6 elements"},
		"empty chain":              {second(Fuse()), new(*ProgramError), "0 steps"},
		"no such step":             {second(Fuse(Step{Op: 99})), new(*ProgramError), "no operation"},
		"step without its input":   {second(Fuse(Step{Op: OpAdd})), new(*ProgramError), "input 0"},
		"step with an input":       {second(Fuse(Step{Op: OpExp, In: 1})), new(*ProgramError), "no input"},
		"chain with too few":       {drop(must(Fuse(Step{Op: OpAdd, In: 2}))(t).Apply(f, f)), new(*ProgramError), "takes 3"},
		"host memory of a type":    {f.CopyFrom(hostView(F64, 2, 3)), new(*DTypeError), "float64"},
		"host memory of a shape":   {f.CopyFrom(hostView(F32, 3, 2)), new(*ShapeError), "shape"},
		"host memory nowhere":      {f.CopyFrom(backend.View{DType: F32, Shape: []int{2, 3}, Strides: []int{12, 4}}), new(*ShapeError), "nil"},
		"host memory of strides":   {second(FromHost(cpu, backend.View{DType: F32, Shape: []int{2, 3}})), new(*ShapeError), "strides"},
		"compile on the processor": {second(Compile(cpu, "", "f")), new(*UnsupportedError), "CUDA device"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, c.err, c.says)
		} else if target, ok := c.kind.(error); ok && !errors.Is(c.err, target) || !ok && !errors.As(c.err, c.kind) {
			t.Errorf("%s: error %v has not the type %T", name, c.err, c.kind)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func hostView(dt DType, shape ...int) backend.View {
	v := backend.View{DType: dt}
	v.Shape, v.Strides = packed(dt, shape)
	v.Ptr = unsafe.Pointer(unsafe.SliceData(make([]byte, count(shape)*dt.Size())))
	return v
}

func TestOpen_UnknownNames_DeviceError(t *testing.T) {
	for _, name := range []string{"", "gpu", "cpu:1", "cpu:-1", "cpu:x", "tpu:0"} {
		var want *DeviceError
		if _, err := Open(name); !errors.As(err, &want) {
			t.Errorf("open %q: %v, want a *DeviceError", name, err)
		}
	}
	a, b := must(Open("cpu"))(t), must(Open("cpu:0"))(t)
	if a != b || a != CPU() {
		t.Error("the cpu was opened twice")
	}
}

func TestClip_InfiniteBoundsOfIntegers_AreNone(t *testing.T) {
	for _, dt := range []DType{I32, I64, U8} {
		a := must(must(FromSlice(CPU(), []float64{math.Inf(-1), 5, math.Inf(1)}))(t).Cast(dt))(t) // the least and the greatest
		same(t, "no bounds", must(Clip(a, math.Inf(-1), math.Inf(1)))(t), look(a), 0)
		if got := look(must(Clip(a, 7, math.Inf(1)))(t)).e; got[0].i != 7 || got[1].i != 7 || got[2] != look(a).e[2] {
			t.Errorf("%v: clip from 7 gave %v", dt, got)
		}
	}
	x := must(FromSlice(CPU(), []float32{1, 2}))(t)
	for _, v := range must(ToSlice[float32](must(Clip(x, 0, math.NaN()))(t)))(t) {
		if v == v {
			t.Errorf("clip with a bound of NaN gave %v, want NaN", v)
		}
	}
}

package value

import (
	"encoding"
	"errors"
	"math/big"
	"reflect"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// sink is a form in which a value is written down, part by part.
type sink interface {
	none()
	boolean(bool)
	integer(int64)
	unsigned(uint64)
	float(float64)
	text(string) error
	bytes([]byte) error
	tuple() // of three parts
	endTuple()
	list(n int)
	endList()
	dict(n int)
	endDict()

	big(*big.Int) error
	complex(complex128) error
	time(time.Time) error
	duration(time.Duration) error
	array(store.NDArray) error
	ref(ids.Object) error
	actor(*Handle) error
}

// Handle is an actor in a value: its id, what another process needs to count the handle, and what Python keeps of the class.
type Handle struct {
	ID    []byte
	Token string // "": nobody counts handles of this actor
	Meta  []byte
	Held  ids.Object // the token's object on the way out; zero where there is none
}

// errNeedsPickle is returned by the msgpack form for what only a pickle can hold.
var errNeedsPickle = errors.New("only a pickle holds this")

// References tells the encoder which Go values are references to objects.
type References struct {
	Package string // of all types that Object is asked about
	// Object returns a reference's object. An error says why the value cannot travel.
	Object func(pointer any) (ids.Object, error)
	// Actor returns the handle that a pointer is, nil if it is none. Nil: there are no actors.
	Actor func(pointer any) *Handle
}

var (
	arrayType    = reflect.TypeFor[store.NDArray]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	bigType      = reflect.TypeFor[big.Int]()
	marshalText  = reflect.TypeFor[encoding.TextMarshaler]()
)

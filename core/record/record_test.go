package record

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

func TestResources_Encode_IsInOrder(t *testing.T) {
	want := Resources{}
	for i := range 50 {
		want[fmt.Sprint("r", i)] = int64(i) << i
	}
	first, err := msgpack.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := msgpack.Marshal(want)
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("the bytes differ, %v", err)
		}
	}
	var got Resources
	if err := msgpack.Unmarshal(first, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestResources_Decode_RefusesTooMany(t *testing.T) {
	var r Resources
	if err := msgpack.Unmarshal([]byte{0xdf, 0, 1, 0, 1}, &r); err == nil || !strings.Contains(err.Error(), "at most 65536 are allowed") {
		t.Errorf("65537 names: %v", err)
	}
	if err := msgpack.Unmarshal([]byte{0xdf, 0, 1, 0, 0}, &r); err == nil || strings.Contains(err.Error(), "allowed") {
		t.Errorf("65536 names, of which none comes: %v", err)
	}
	if err := msgpack.Unmarshal([]byte{0xc0}, &r); err != nil || r != nil {
		t.Errorf("nil: got %v, %v", r, err)
	}
}

// shortWriter takes so many bytes, and then fails.
type shortWriter int

func (w *shortWriter) Write(b []byte) (int, error) {
	if *w < shortWriter(len(b)) {
		return 0, errors.New("full")
	}
	*w -= shortWriter(len(b))
	return len(b), nil
}

// A map that cannot be written in full is an error, wherever the room ends,
// and no map is written as none.
func TestResources_Encode_CutAnywhere_IsAnError(t *testing.T) {
	r := Resources{"CPU": 10000, "GPU": 1 << 40}
	b, err := msgpack.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) + 1 {
		room := shortWriter(n)
		if err := r.EncodeMsgpack(msgpack.NewEncoder(&room)); (err == nil) != (n == len(b)) {
			t.Errorf("with room for %d of %d bytes: %v", n, len(b), err)
		}
	}
	var none bytes.Buffer
	if err := Resources(nil).EncodeMsgpack(msgpack.NewEncoder(&none)); err != nil || !bytes.Equal(none.Bytes(), []byte{0xc0}) {
		t.Errorf("none is written as %x, %v", none.Bytes(), err)
	}
	if err := r.DecodeMsgpack(msgpack.NewDecoder(&none)); err != nil || r != nil {
		t.Errorf("none is read as %v, %v", r, err)
	}
}

func TestRecords_RoundTrip_AndSkipLaterFields(t *testing.T) {
	want := Actor{
		ID: ids.Actor{1}, Name: "n", State: ActorRestarting, Incarnation: 2, MaxRestarts: -1, Resources: Resources{"CPU": 1},
		Fallback: []Alternative{{Resources: Resources{"CPU": 1}, RunResources: Resources{"x": 2}}, {ClassName: "B", MaxConcurrency: 3}}, AfterMs: 5,
		Previous: Instance{Actor: ids.Actor{1}, Incarnation: 1, Pid: 7}, Cause: Cause{Reason: WorkerDied, Message: "m", Error: []byte("e")},
	}
	b, err := msgpack.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got Actor
	if err := msgpack.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	later, err := msgpack.Marshal(map[string]any{"name": "n", "later": map[string]int{"x": 1}, "pid": 3})
	if err != nil {
		t.Fatal(err)
	}
	got = Actor{}
	if err := msgpack.Unmarshal(later, &got); err != nil || got.Name != "n" || got.Pid != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCause_Fault_IsWhatCallersGet(t *testing.T) {
	for r, want := range map[Reason]fault.Code{
		Killed: fault.ActorDied, StartFailed: fault.ActorDied, EnvFailed: fault.RuntimeEnvSetup, GPUMemory: fault.GPUMemoryExceeded, OutOfMemory: fault.OutOfMemory, "": fault.ActorDied,
	} {
		if got := (Cause{Reason: r}).Fault(); got != want {
			t.Errorf("%s: got %s, want %s", r, got, want)
		}
	}
}

func TestActor_MayRestart(t *testing.T) {
	for _, c := range []struct {
		max, done int
		state     ActorState
		released  bool
		want      bool
	}{
		{0, 0, ActorAlive, false, false}, {1, 0, ActorAlive, false, true}, {1, 1, ActorAlive, false, false},
		{-1, 99, ActorAlive, false, true}, {-1, 0, ActorAlive, true, false}, {-1, 0, ActorDead, false, false},
	} {
		a := Actor{MaxRestarts: c.max, NumRestarts: c.done, State: c.state, Released: c.released}
		if a.MayRestart() != c.want {
			t.Errorf("%+v: got %v", c, !c.want)
		}
	}
}

func TestNameTakenError_CarriesTheCode(t *testing.T) {
	err := fmt.Errorf("create: %w", &NameTakenError{Namespace: "ns", Name: "n", Existing: ids.Actor{1}})
	if !errors.Is(err, ErrNameTaken) || fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("got %v, %s", err, fault.CodeOf(err))
	}
}

func TestActor_String_NamesIt(t *testing.T) {
	a := Actor{ID: ids.Actor{1}, ClassName: "Counter", Name: "c"}
	if got, want := a.String(), `actor Counter "c" 01000000000000000000000000000000`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a.Name = ""
	if got, want := a.String(), `actor Counter 01000000000000000000000000000000`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a.ClassName = ""
	if got, want := a.String(), `actor 01000000000000000000000000000000`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

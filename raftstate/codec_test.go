package raftstate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

func TestCodec_EveryKind_RoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[Kind]bool{}
	for range 2000 {
		b := randomBody(r)
		seen[b.kind()] = true
		term := uint64(r.IntN(2)) * r.Uint64()
		data, err := encode(Command{Request: RequestID{Client: Client{1, 2}, Seq: 3}, Term: term, Body: b, Answered: 2, Seen: 7})
		if err != nil {
			t.Fatal(err)
		}
		c, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if c.Request != (RequestID{Client: Client{1, 2}, Seq: 3}) || c.Term != term || c.Answered != 2 || c.Seen != 7 || reflect.TypeOf(c.Body) != reflect.TypeOf(b) {
			t.Fatalf("got %+v, want %+v", c, b)
		}
		again, err := encode(c)
		// Empty bytes come back as none, and are left out the next time.
		if err != nil || len(again) > len(data) {
			t.Fatalf("got %x, want %x, %v", again, data, err)
		}
		if c2, err := decode(again); err != nil || !reflect.DeepEqual(c, c2) {
			t.Fatalf("got %+v, want %+v, %v", c2, c, err)
		}
	}
	for k := range Kind(100) {
		if (newBody(k) != nil) != seen[k] {
			t.Errorf("kind %d: known %v, drawn %v", k, newBody(k) != nil, seen[k])
		}
		if b := newBody(k); b != nil && b.kind() != k {
			t.Errorf("kind %d makes a body of kind %d", k, b.kind())
		}
	}
}

func TestCodec_TooLarge_SaysSo(t *testing.T) {
	_, err := encode(Command{Body: &KVPut{Key: "k", Value: make([]byte, MaxCommandBytes)}})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), `key "k" is 167`) || fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("got %v", err)
	}
}

func TestCodec_UnknownCommand_SaysSo(t *testing.T) {
	good, err := encode(Command{Body: &KVPut{Key: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-1], "not an array": {0xc0}, "short": {0x91, 1},
		"later version":  append([]byte{0x95, 2}, good[2:]...),
		"unknown kind":   append([]byte{0x95, 1, 0x7f}, good[3:]...),
		"answers itself": {0x98, 1, byte(KindKVPut), 0xc4, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0x80, 0, 6, 0},
		"client id":      {0x95, 1, 1, 0xc4, 1, 0, 1, 0x80},
	} {
		if _, err := decode(data); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A kind that does not fit its type is unknown, also where its lower bits are a known kind.
func TestCodec_KindBeyondItsType_IsUnknown(t *testing.T) {
	for _, kind := range []uint64{0, 1<<16 - 1, 1<<16 + uint64(KindKVPut), 1<<17 + uint64(KindKVPut), 1<<32 + uint64(KindKVPut), 1<<63 + uint64(KindKVPut)} {
		data, err := msgpack.Marshal([]any{1, kind, make([]byte, 16), 1, map[string]any{"key": "k"}})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := decode(data); !errors.Is(err, ErrUnknownCommand) || !strings.Contains(err.Error(), fmt.Sprintf("kind %d", kind)) {
			t.Errorf("kind %d: got %+v, %v", kind, c, err)
		}
	}
}

func TestCodec_FieldsOfALaterVersion_AreSkipped(t *testing.T) {
	data, err := msgpack.Marshal([]any{1, KindKVPut, make([]byte, 16), 1, map[string]any{"key": "k", "val": []byte("v"), "later": []int{1}}, 7, 1, 0, "later"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if b := c.Body.(*KVPut); b.Key != "k" || string(b.Value) != "v" || c.Term != 7 {
		t.Errorf("got %+v", c)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		data, err := encode(Command{Body: randomBody(r)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		if err != nil {
			return
		}
		m := NewMachine()
		m.Apply(1, c)
		if again, err := encode(c); err == nil {
			if _, err := decode(again); err != nil {
				t.Errorf("%x: %v", data, err)
			}
		}
	})
}

// Log entries of the version that had no acknowledgements are read.
func TestCodec_EnvelopeOfTheFirstVersion_IsRead(t *testing.T) {
	data, err := msgpack.Marshal([]any{1, KindKVPut, Client{1, 2}, 3, map[string]any{"key": "k", "val": []byte("v")}})
	if err != nil {
		t.Fatal(err)
	}
	// Its client is an array of bytes, which the codec writes as bytes.
	data = bytes.Replace(data, append([]byte{0xdc, 0, 16}, 1, 2), append([]byte{0xc4, 16}, 1, 2), 1)
	c, err := decode(data)
	if err != nil || c.Request != (RequestID{Client: Client{1, 2}, Seq: 3}) || c.Answered != 0 || c.Seen != 0 || c.Body.(*KVPut).Key != "k" {
		t.Fatalf("got %+v, %v", c, err)
	}
}

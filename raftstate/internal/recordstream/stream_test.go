package recordstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/vmihailenco/msgpack/v5"
)

const text, last = Kind(5), Kind(9)

var format = Format{Versions: map[Kind]uint64{text: 2, last: 1}, End: last, MaxRecord: 100}

var layouts = []uint32{2, 3}

// written returns a stream with records that are these texts.
func written(t *testing.T, texts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := format.Write(&b, 3, func(w *Writer) {
		for _, s := range texts {
			w.Add(text, &s)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// takeTexts returns what takes texts, and what it has taken.
func takeTexts() (Take, *[]string) {
	var texts []string
	return func(k Kind, d *msgpack.Decoder) error {
		if k != text {
			return fmt.Errorf("kind %d", k)
		}
		return Decode(d, func(s *string) error { texts = append(texts, *s); return nil })
	}, &texts
}

func read(b []byte) ([]string, error) {
	take, texts := takeTexts()
	err := format.Read(bytes.NewReader(b), layouts, take)
	return *texts, err
}

// raw is a record as it is written.
func raw(t *testing.T, kind, version uint64, body any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	if err := errors.Join(e.EncodeUint(kind), e.EncodeUint(version), e.Encode(body)); err != nil {
		t.Fatal(err)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
}

func TestStream_Records_ComeBackInOrder(t *testing.T) {
	for _, want := range [][]string{nil, {"a"}, {"a", "", "b", strings.Repeat("x", 90)}} {
		if got, err := read(written(t, want...)); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// A record that the reader would refuse is not written, and nothing else after it.
func TestWrite_RecordTooLong_IsRefused(t *testing.T) {
	long := strings.Repeat("x", 100)
	var b bytes.Buffer
	err := format.Write(&b, 2, func(w *Writer) { w.Add(text, &long); w.Add(text, "short") })
	if err == nil || !strings.Contains(err.Error(), "at most 100 are allowed") {
		t.Errorf("got %v", err)
	}
	if got, err := read(b.Bytes()); err == nil || len(got) > 0 {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRead_CutOrFlippedAnywhere_IsRefused(t *testing.T) {
	good := written(t, "one", "two", "three")
	for cut := range good {
		if _, err := read(good[:cut]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d of %d: got %v", cut, len(good), err)
		}
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x11
		inLayout := at >= len(magic) && at < headerSize
		if _, err := read(bad); !errors.Is(err, ErrDamaged) && (!inLayout || !errors.Is(err, ErrNewer)) {
			t.Fatalf("byte %d of %d is another one: got %v", at, len(good), err)
		}
	}
}

func TestReadRecords_OfANewerVersion_SaysSo(t *testing.T) {
	first := raw(t, uint64(text), 2, "a")
	for want, record := range map[string][]byte{
		"a record of kind 99, which this version does not know":     raw(t, 99, 1, nil),
		"a record of kind 65541, which this version does not know":  raw(t, 1<<16+uint64(text), 1, "a"),
		"a record of kind 5 in version 3, and this version knows 2": raw(t, uint64(text), 3, "a"),
	} {
		take, _ := takeTexts()
		err := format.ReadRecords(bytes.NewReader(append(bytes.Clone(first), record...)), take)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	newer := written(t)
	newer[len(magic)]++
	if _, err := read(newer); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "its layout has version 4, and this version knows versions up to 3") {
		t.Errorf("got %v", err)
	}
}

func TestReadRecords_NotAsTheyAreWritten_AreRefused(t *testing.T) {
	one, older := raw(t, uint64(text), 2, "a"), raw(t, uint64(text), 1, "a")
	end := func(n int) []byte { return raw(t, uint64(last), 1, map[string]any{"records": n, "later": true}) }
	junk := append(raw(t, uint64(text), 2, "a"), 0xc0)
	binary.LittleEndian.PutUint32(junk, uint32(len(junk)-4))
	list := func(records ...[]byte) []byte { return bytes.Join(records, nil) }
	take, texts := takeTexts()
	if err := format.ReadRecords(bytes.NewReader(list(one, older, end(2))), take); err != nil || len(*texts) != 2 {
		t.Errorf("what is right: got %q, %v", *texts, err)
	}
	for what, records := range map[string][]byte{
		"nothing":                     nil,
		"no end":                      one,
		"two ends":                    list(end(0), end(1)),
		"a record after the end":      list(end(0), one),
		"too small a count":           list(one, one, end(1)),
		"too large a count":           list(one, end(2)),
		"too long a record":           list(binary.LittleEndian.AppendUint32(nil, 101), make([]byte, 101)),
		"a length without a record":   binary.LittleEndian.AppendUint32(nil, 50),
		"a cut record":                one[:len(one)-1],
		"a cut length":                one[:2],
		"bytes after a record's body": list(junk, end(1)),
		"no kind":                     {1, 0, 0, 0, 0xc0},
		"no version":                  {2, 0, 0, 0, 5, 0xc0},
		"another body":                {3, 0, 0, 0, 5, 2, 7},
	} {
		take, _ := takeTexts()
		if err := format.ReadRecords(bytes.NewReader(records), take); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// An error of the disk is no damage.
func TestRead_ReadFails_SaysWhy(t *testing.T) {
	good, disk := written(t, "one", "two"), errors.New("the disk is gone")
	for cut := range len(good) + 1 {
		take, _ := takeTexts()
		err := format.Read(io.MultiReader(bytes.NewReader(good[:cut]), iotest.ErrReader(disk)), layouts, take)
		if !errors.Is(err, disk) || errors.Is(err, ErrDamaged) {
			t.Errorf("after %d bytes: got %v", cut, err)
		}
	}
}

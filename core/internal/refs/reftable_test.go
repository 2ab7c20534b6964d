package refs

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// table32 makes a table of references by hand: its head and what follows.
func table32(size, n, owners uint32, rest ...[]byte) []byte {
	var b []byte
	for _, x := range []uint32{size, n, owners, 0} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return slices.Concat(append([][]byte{b}, rest...)...)
}

func word32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// A table gives its references with their owners, whatever follows it. One that is damaged is refused.
func TestReadRefs_SoundAndDamaged(t *testing.T) {
	a, b := ids.NewObject(1, ids.Owner{1}, ids.Job{}, 0), ids.NewObject(2, ids.Owner{2}, ids.Job{}, 0)
	const one, two = refsHead + ids.ObjectSize + 4 + 2, refsHead + 2*ids.ObjectSize + 8 + 4 + 2 + 4
	addr := slices.Concat(word32(2), []byte("xy"))
	sound := table32(one, 1, 1, a[:], addr)
	r, err := ReadRefs(append(slices.Clone(sound), "pickle"...))
	if err != nil || r.n != 1 || r.size != one || r.id(0) != a || r.owner(0) != 0 || !slices.Equal(r.addrs, []string{"xy"}) {
		t.Errorf("one reference: %+v, %v", r, err)
	}
	both := table32(two, 2, 2, a[:], b[:], word32(1), word32(0), addr, word32(0))
	r, err = ReadRefs(both)
	if err != nil || r.n != 2 || r.size != two || r.id(0) != a || r.id(1) != b || r.owner(0) != 1 || r.owner(1) != 0 || !slices.Equal(r.addrs, []string{"xy", ""}) {
		t.Errorf("two references: %+v, %v", r, err)
	}
	for what, x := range map[string][]byte{
		"nothing":                     nil,
		"a cut head":                  sound[:refsHead-1],
		"a head only":                 table32(refsHead, 1, 1),
		"a cut table":                 sound[:one-1],
		"a size below the head":       table32(refsHead-1, 1, 1, a[:], addr),
		"no reference":                table32(one, 0, 1, a[:], addr),
		"no owner":                    table32(one, 1, 0, a[:], addr),
		"more owners than references": table32(one, 1, 2, a[:], addr),
		"more references than bytes":  table32(one, 2, 1, a[:], addr),
		"very many references":        table32(one, 1<<31, 1, a[:], addr),
		"no room for who owns which":  table32(refsHead+2*ids.ObjectSize+7, 2, 2, a[:], b[:], make([]byte, 7)),
		"an owner that is not there":  table32(two, 2, 2, a[:], b[:], word32(1), word32(2), addr, word32(0)),
		"no room for an address":      table32(one-3, 1, 1, a[:], word32(0)[:3]),
		"an address beyond the end":   table32(one, 1, 1, a[:], word32(3), []byte("xy")),
		"an address in the pickle":    append(table32(one-2, 1, 1, a[:], word32(2)), "xy"...),
		"one address of two":          table32(two-4, 2, 2, a[:], b[:], word32(1), word32(0), addr),
		"a very long address":         table32(one, 1, 1, a[:], word32(1<<32-1), []byte("xy")),
	} {
		if r, err := ReadRefs(x); err == nil || r != nil {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}

// FuzzReadRefs: a damaged table is an error, and whatever is none can be read.
func FuzzReadRefs(f *testing.F) {
	table := func(n int, addrs ...string) []byte {
		size := refsHead + n*ids.ObjectSize
		b := make([]byte, size)
		if len(addrs) > 1 {
			for i := range n {
				b = binary.LittleEndian.AppendUint32(b, uint32(i%len(addrs)))
			}
		}
		for _, a := range addrs {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(a))), a...)
		}
		for i, v := range []int{len(b), n, len(addrs)} {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
		}
		return b
	}
	f.Add(table(1, "a"))
	f.Add(table(3, "a", "bc"))
	f.Add(table(200, "there", "", "elsewhere"))
	f.Fuzz(func(t *testing.T, b []byte) {
		began := time.Now()
		r, err := ReadRefs(b)
		if err != nil {
			return
		}
		if r.n > len(b)/ids.ObjectSize || len(r.addrs) > r.n {
			t.Fatalf("%d bytes are said to have %d references of %d owners", len(b), r.n, len(r.addrs))
		}
		for i := range r.n {
			_, _ = r.id(i), r.addrs[r.owner(i)]
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("it takes too long")
		}
	})
}

// The session is asked where references came in when one of them has no site yet: of a borrowed object that is new, or
// that came before there was a site. It is asked once for a value.
func TestImport_AsksForTheSite_OnceAndOnlyForObjectsWithoutOne(t *testing.T) {
	r := new(recorder)
	here := NewTable(ids.Owner{1}, ids.JobOf(1), "here", r)
	own := here.New(1, 1)
	there := NewTable(ids.Owner{2}, ids.JobOf(1), "there", new(recorder))
	known, one, two, silent := there.New(1, 1), there.New(2, 1), there.New(3, 1), there.New(4, 1)
	imports := func(site uint32, want string, list ...*Object) {
		t.Helper()
		w := NewTable(ids.Owner{3}, ids.JobOf(1), "writer", new(recorder))
		var all []*ids.Object
		for _, o := range list {
			addr := "there"
			if o == own {
				addr = "here"
			}
			w.Install(Known(o.ID, Facts{OwnerAddr: addr}))
			all = append(all, &o.ID)
		}
		table, err := w.WriteRefs(all)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ReadRefs(table)
		if err != nil {
			t.Fatal(err)
		}
		r.seen = nil
		here.Import(v, site)
		var asked []string
		for _, s := range r.seen {
			if strings.HasPrefix(s, "arrival") {
				asked = append(asked, s)
			}
		}
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	imports(7, "arrival at 7", known)
	imports(8, "", known, own, known)
	imports(9, "arrival at 9", own, one, known, two, one)
	imports(0, "arrival at 0", silent, silent)
	imports(5, "arrival at 5", silent)
	for o, want := range map[*Object]uint32{own: 0, known: 7, one: 9, two: 9, silent: 5} {
		if got := here.Find(o.ID).Site(); got != want {
			t.Errorf("object %d came in at %d, want %d", o.ID.Count(), got, want)
		}
	}
}

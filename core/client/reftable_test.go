package client

import (
	"encoding/binary"
	"slices"
	"testing"

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
func TestParseRefs_SoundAndDamaged(t *testing.T) {
	a, b := ids.NewObject(1, ids.Owner{1}, ids.Job{}, 0), ids.NewObject(2, ids.Owner{2}, ids.Job{}, 0)
	const one, two = tableHead + ids.ObjectSize + 4 + 2, tableHead + 2*ids.ObjectSize + 8 + 4 + 2 + 4
	addr := slices.Concat(word32(2), []byte("xy"))
	sound := table32(one, 1, 1, a[:], addr)
	r, err := parseRefs(append(slices.Clone(sound), "pickle"...))
	if err != nil || r.n != 1 || r.size != one || r.id(0) != a || r.owner(0) != 0 || !slices.Equal(r.addrs, []string{"xy"}) {
		t.Errorf("one reference: %+v, %v", r, err)
	}
	both := table32(two, 2, 2, a[:], b[:], word32(1), word32(0), addr, word32(0))
	r, err = parseRefs(both)
	if err != nil || r.n != 2 || r.size != two || r.id(0) != a || r.id(1) != b || r.owner(0) != 1 || r.owner(1) != 0 || !slices.Equal(r.addrs, []string{"xy", ""}) {
		t.Errorf("two references: %+v, %v", r, err)
	}
	for what, x := range map[string][]byte{
		"nothing":                     nil,
		"a cut head":                  sound[:tableHead-1],
		"a head only":                 table32(tableHead, 1, 1),
		"a cut table":                 sound[:one-1],
		"a size below the head":       table32(tableHead-1, 1, 1, a[:], addr),
		"no reference":                table32(one, 0, 1, a[:], addr),
		"no owner":                    table32(one, 1, 0, a[:], addr),
		"more owners than references": table32(one, 1, 2, a[:], addr),
		"more references than bytes":  table32(one, 2, 1, a[:], addr),
		"very many references":        table32(one, 1<<31, 1, a[:], addr),
		"no room for who owns which":  table32(tableHead+2*ids.ObjectSize+7, 2, 2, a[:], b[:], make([]byte, 7)),
		"an owner that is not there":  table32(two, 2, 2, a[:], b[:], word32(1), word32(2), addr, word32(0)),
		"no room for an address":      table32(one-3, 1, 1, a[:], word32(0)[:3]),
		"an address beyond the end":   table32(one, 1, 1, a[:], word32(3), []byte("xy")),
		"an address in the pickle":    append(table32(one-2, 1, 1, a[:], word32(2)), "xy"...),
		"one address of two":          table32(two-4, 2, 2, a[:], b[:], word32(1), word32(0), addr),
		"a very long address":         table32(one, 1, 1, a[:], word32(1<<32-1), []byte("xy")),
	} {
		if r, err := parseRefs(x); err == nil || r != nil {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}

// What a table names becomes references of this process, which knows its own.
func TestImportTable_OwnAndBorrowed(t *testing.T) {
	d := startDaemon(t)
	c, other := d.driver(), d.driver()
	mine, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("mine")})
	if err != nil {
		t.Fatal(err)
	}
	its, err := other.Put(&Value{Fmt: FmtBytes, Meta: []byte("its")})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := other.Export(its)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Import(its, addr, 0); err != nil {
		t.Fatal(err)
	}
	table, err := c.RefTable([]*ids.Object{&mine, &its})
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := c.RefTable([]*ids.Object{&mine, &its, &its, &mine})
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRefs(mixed)
	if err != nil || r.n != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []string{c.info.Addr, addr, addr, c.info.Addr} {
		if got := r.addrs[r.owner(i)]; got != want || r.id(i) != []ids.Object{mine, its, its, mine}[i] {
			t.Errorf("reference %d is %s of %s, want that of %s", i, r.id(i), got, want)
		}
	}
	list, rest, err := c.ImportTable(append(table, "rest"...))
	if err != nil || string(rest) != "rest" || !slices.Equal(list, []ids.Object{mine, its}) {
		t.Fatalf("%v, %q, %v", list, rest, err)
	}
	for id, want := range map[ids.Object]string{mine: "mine", its: "its"} {
		c.Release(Drop{Object: id}) // the first reference
		if got := get(t, c, id); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, _, err := c.ImportTable([]byte("damaged")); err == nil {
		t.Error("a damaged table is taken")
	}
	unknown := ids.NewObject(1<<40, c.self, c.info.Job, 0)
	if _, err := c.RefTable([]*ids.Object{&unknown}); err == nil {
		t.Error("a reference that is not known is written down")
	}
	letGo(t, c, mine, its)
	letGo(t, other, its)
	c.Close(0)
	if _, _, err := c.ImportTable(table); err == nil {
		t.Error("a closed session takes references")
	}
	if _, err := c.RefTable(nil); err == nil {
		t.Error("a closed session writes references down")
	}
}

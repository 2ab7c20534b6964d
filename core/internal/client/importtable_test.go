package client

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

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
	r, err := refs.ReadRefs(mixed)
	if err != nil || r.Len() != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []string{c.info.Addr, addr, addr, c.info.Addr} {
		if id, got := r.Ref(i); got != want || id != []ids.Object{mine, its, its, mine}[i] {
			t.Errorf("reference %d is %s of %s, want that of %s", i, id, got, want)
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

package client

import "testing"

// What the program looks at in the store is told, as long as it looks.
func TestCensus_ProgramLooksAtTheValue_IsTold(t *testing.T) {
	d := startDaemon(t)
	mine := d.sited("driver")
	id, err := mine.c.Put(&Value{Fmt: FmtBytes, Meta: make([]byte, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if told(t, mine.c, id).Viewed {
		t.Error("nobody has looked at it")
	}
	f, err := mine.c.Get(id, 0)
	if err != nil || f == nil || f.View == 0 {
		t.Fatal(f, err)
	}
	if !told(t, mine.c, id).Viewed {
		t.Error("the program looks at it")
	}
	mine.c.Release(Drop{View: f.View})
	waitFor(t, "the view is given back", func() bool { return !told(t, mine.c, id).Viewed })
	mine.c.Release(Drop{Object: id})
}

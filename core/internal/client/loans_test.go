package client

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/store"
)

func lentValue(format store.Format, n int) Found {
	return Found{Envelope: store.AppendEnvelope(nil, format, nil, make([]byte, n))}
}

func TestLend_OnlyWhatIsWorthIt(t *testing.T) {
	for _, x := range []struct {
		f    Found
		lent bool
	}{
		{lentValue(store.FormatNDArray, 1024), true},
		{lentValue(store.FormatPickle, 1024), true},
		{lentValue(store.FormatPickleRefs, 1024), true},
		{lentValue(store.FormatBytes, 1024), true},
		{lentValue(store.FormatNDArray, 100), false},
		{lentValue(store.FormatMsgpack, 1024), false},
		{lentValue(store.FormatError, 1024), false},
		{Found{}, false},
	} {
		before := Loans()
		Lend(&x.f)
		if (x.f.View != 0) != x.lent || Loans()-before != map[bool]int{true: 1}[x.lent] {
			t.Errorf("%d bytes: view %x", len(x.f.Envelope), x.f.View)
		}
		if x.lent {
			if !localstore.IsLoan(x.f.View) {
				t.Errorf("%x is no loan", x.f.View)
			}
			EndLoan(x.f.View)
			EndLoan(x.f.View) // once
		}
		if Loans() != before {
			t.Errorf("%d are lent", Loans()-before)
		}
	}
	arena := Found{Envelope: make([]byte, 1024), View: 7}
	if Lend(&arena); arena.View != 7 {
		t.Error("a view of the arena was lent")
	}
}

// The garbage collector must not take what is lent, and must take it afterwards.
func TestLend_ValueIsLetGoOf_MemoryStaysUntilTheEnd(t *testing.T) {
	gone := make(chan struct{})
	view := func() uint64 {
		f := lentValue(store.FormatNDArray, 1<<20)
		runtime.AddCleanup((*byte)(unsafe.Pointer(&f.Envelope[0])), func(int) { close(gone) }, 0)
		Lend(&f)
		return f.View
	}()
	runtime.GC()
	runtime.GC()
	select {
	case <-gone:
		t.Fatal("it was freed while it was lent")
	default:
	}
	EndLoan(view)
	runtime.GC()
	<-gone
}

func TestTryGetAll_SomeAreMissing_OthersAreGiven(t *testing.T) {
	c := startDaemon(t).driver()
	small, err := c.Put(&Value{Fmt: FmtMsgpack, Meta: []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	large, err := c.Put(&Value{Fmt: FmtNDArray, Bufs: [][]byte{make([]byte, 10_000)}})
	if err != nil {
		t.Fatal(err)
	}
	pending, _ := pendingObjects(c, 1)
	unknown := ids.NewObject(9999, c.self, c.info.Job, 0)
	before := Loans()
	var given []Found
	keep, missing, err := c.TryGetAll([]*ids.Object{&small, pending[0], &large, &unknown, &small}, func(_ int, f *Found) { given = append(given, *f) })
	if err != nil || missing != 2 || len(given) != 3 || keep == 0 {
		t.Fatal(keep, missing, len(given), err)
	}
	if given[0].View != 0 || !localstore.IsLoan(given[1].View) || Loans() != before+2 {
		t.Fatalf("%x, %d loans", given[1].View, Loans()-before)
	}
	EndLoan(given[1].View)
	EndLoan(keep)
	if Loans() != before {
		t.Fatalf("%d loans are left", Loans()-before)
	}
	c.Close(0)
	if _, _, err := c.TryGetAll(nil, nil); err == nil {
		t.Fatal("no error after the session")
	}
}

package progress

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever a worker's stray pointers leave on its page: a number that is believed was begun, and nothing panics.
func FuzzPage(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint16(0))
	f.Add([]byte{9, 0, 0, 0}, uint16(16))
	f.Add(make([]byte, 200), uint16(32))
	f.Fuzz(func(t *testing.T, wild []byte, at uint16) {
		fd, r, err := CreateActorPage()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		w, err := OpenActorPage(fd)
		if err != nil {
			t.Fatal(err)
		}
		defer w.page.close()
		const callers = 5
		for i := range callers {
			w.Take(who(i), 7).Begin(uint32(i + 1))
		}
		if n := min(len(wild), pageSize-int(at)); n > 0 {
			if _, err := unix.Pwrite(fd, wild[:n], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		unix.Close(fd)
		n := r.Read()
		for i := range callers {
			if seq, known := n.Of(Caller{who(i), 7}); known && seq != uint32(i+1) {
				t.Errorf("caller %d began %d, the page says %d", i, i+1, seq)
			}
		}
	})
}

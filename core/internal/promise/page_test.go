package promise

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func open(t *testing.T) (*Page, *View, *time.Duration) {
	t.Helper()
	p, err := NewPage()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	now := new(time.Duration)
	*now = time.Hour
	v, err := Open(p.FD(), func() time.Duration { return *now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return p, v, now
}

func TestPage_Extend_HoldsUntilThen(t *testing.T) {
	p, v, now := open(t)
	if v.Valid() {
		t.Error("a new page promises something")
	}
	p.Extend(time.Hour + 10*time.Second)
	p.Extend(time.Hour + 5*time.Second) // late
	*now += 10*time.Second - 1
	if !v.Valid() || v.Over() != 0 {
		t.Errorf("just before the end it is over for %v", v.Over())
	}
	*now++
	if v.Valid() {
		t.Error("valid at its end")
	}
	*now += time.Second
	if v.Over() != time.Second {
		t.Errorf("over for %v", v.Over())
	}
	p.Extend(time.Hour + time.Minute)
	if !v.Valid() {
		t.Error("not extended")
	}
}

func TestPage_Revoke_IsForGood(t *testing.T) {
	p, v, now := open(t)
	p.Extend(2 * time.Hour)
	p.Revoke()
	p.Extend(3 * time.Hour)
	if v.Valid() || v.Over() != *now {
		t.Errorf("valid: %v, over for %v", v.Valid(), v.Over())
	}
}

// Who has the descriptor, as a worker has, can change nothing.
func TestPage_NobodyElse_CanWrite(t *testing.T) {
	p, v, _ := open(t)
	p.Extend(2 * time.Hour)
	if m, err := unix.Mmap(p.FD(), 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		_ = unix.Munmap(m)
		t.Error("the page can be mapped for writing")
	}
	if err := unix.Mprotect(v.mem, unix.PROT_READ|unix.PROT_WRITE); err == nil {
		t.Error("the view can be made writable")
	}
	if _, err := unix.Pwrite(p.FD(), make([]byte, 16), 0); err == nil {
		t.Error("the page can be written to")
	}
	if err := unix.Ftruncate(p.FD(), 0); err == nil {
		t.Error("the page can be cut")
	}
	if !v.Valid() {
		t.Error("the promise has changed")
	}
}

func TestOpen_AnotherDescriptor_IsAnError(t *testing.T) {
	for name, flags := range map[string]int{"unsealed": 0, "sealed": unix.MFD_ALLOW_SEALING} {
		fd, err := unix.MemfdCreate("other", unix.MFD_CLOEXEC|flags)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Ftruncate(fd, pageSize)
		if flags != 0 {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
		}
		if _, err := Open(fd, nil); err == nil {
			t.Errorf("%s memory is taken for the page", name)
		}
		unix.Close(fd)
	}
	if _, err := Open(-1, nil); err == nil {
		t.Error("no descriptor is taken for the page")
	}
}

func TestOpen_SystemsClock_GoesOn(t *testing.T) {
	p, err := NewPage()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	v, err := Open(p.FD(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	p.Extend(bootTime() + time.Hour)
	if !v.Valid() {
		t.Error("an hour is over at once")
	}
}

func BenchmarkView_Valid(b *testing.B) {
	p, err := NewPage()
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	v, err := Open(p.FD(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	p.Extend(bootTime() + time.Hour)
	for b.Loop() {
		v.Valid()
	}
}

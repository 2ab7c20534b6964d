package workers

import (
	"testing"

	"golang.org/x/sys/unix"
)

// overheard notes what a zygote told.
type overheard struct {
	t *testing.T
}

func (o *overheard) Ready() {}
func (o *overheard) Forked(_ string, pid, pidfd int) {
	if pid <= 1 { // signals to these go to everybody
		o.t.Errorf("process %d was forked", pid)
	}
	if pidfd >= 0 {
		unix.Close(pidfd)
	}
}

func (o *overheard) Exited(pid, _ int) {
	if pid <= 1 {
		o.t.Errorf("process %d has ended", pid)
	}
}
func (o *overheard) Failed(string, string) {}
func (o *overheard) Noted(string)          {}
func (o *overheard) Late()                 {}
func (o *overheard) Gone(string)           {}

// Whatever comes from a zygote is understood or ignored, and its descriptors are closed.
func FuzzZygotePackets(f *testing.F) {
	for _, s := range []string{
		`{"op":"ready"}`, `{"op":"forked","token":"t","pid":77}`, `{"op":"forked","token":"t","pid":-1}`,
		`{"op":"exit","pid":0,"status":9}`, `{"op":"failed","token":"t","error":"no"}`, `{"op":5}`, `[`,
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, fds uint8) {
		if len(b) == 0 || len(b) > maxZygotePacket {
			return
		}
		c, other := connectedZygote(t)
		defer c.Close()
		var rights []byte
		if fds %= 8; fds > 0 {
			list := make([]int, fds)
			for i := range list {
				list[i] = 1
			}
			rights = unix.UnixRights(list...)
		}
		if err := unix.Sendmsg(other, b, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
		unix.Close(other)
		z := &Zygote{events: &overheard{t: t}}
		z.read(c)
	})
}

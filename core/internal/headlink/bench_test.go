package headlink_test

import (
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// overUnix connects the node with the head by a Unix socket.
func overUnix(b *testing.B) *world {
	w := newWorld(b, true)
	w.startHead(true)
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	join(w.client, w.server, here, there)
	return w
}

func worlds(b *testing.B, run func(b *testing.B, w *world)) {
	b.Run("in process", func(b *testing.B) { run(b, near(b)) })
	b.Run("unix socket", func(b *testing.B) { run(b, overUnix(b)) })
}

// BenchmarkResolve asks for the address of an actor that is alive.
func BenchmarkResolve(b *testing.B) {
	worlds(b, func(b *testing.B, w *world) {
		if err := w.daemon.CreateActor(w.ctx, actor(1)); err != nil {
			b.Fatal(err)
		}
		w.daemon.ActorStarted(instance(1, 1))
		if err := w.head.AwaitReports(w.ctx); err != nil {
			b.Fatal(err)
		}
		told := make(chan struct{}, 1)
		for b.Loop() {
			w.daemon.Resolve(ids.Actor{1}, 0, 0, func(record.Resolution, error) { told <- struct{}{} })
			<-told
		}
	})
}

// BenchmarkCreateActor registers an actor with a class of 1 KiB.
func BenchmarkCreateActor(b *testing.B) {
	worlds(b, func(b *testing.B, w *world) {
		a := actor(1)
		a.Spec = make([]byte, 1<<10)
		n := uint64(0)
		for b.Loop() {
			n++
			binary.BigEndian.PutUint64(a.ID[:], n)
			if err := w.daemon.CreateActor(w.ctx, a); err != nil {
				b.Fatal(err)
			}
		}
	})
}

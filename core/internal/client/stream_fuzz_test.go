package client

import (
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Whatever a caller sends, the worker stays whole.
func FuzzCallFrames(f *testing.F) {
	d := startDaemon(&testing.T{})
	f.Cleanup(func() { os.RemoveAll(d.dir) })
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t"})
	if err != nil {
		f.Fatal(err)
	}
	tm := &Template{Kind: KindTask, Name: "g", FID: make([]byte, 16), Returns: 1, Flow: Flow{Mode: FlowStream, Each: 2, Limit: 3}}
	first := tm.Append(nil, true)
	f.Add(c.submit.AppendTask(nil, &submit.Task{Template: tm, First: 1, Seq: 1, Generator: generators.Finished(1, 3)}, tm))
	f.Add(first)
	f.Add(frame.AppendTaken(nil, 1, 4))
	f.Add(frame.AppendQuit(nil, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exec = nil
		k := worksFor(t, c, wire.RoleLease)
		for _, one := range [][]byte{first, b, b} {
			_, _ = k.Frames(one)
		}
	})
}

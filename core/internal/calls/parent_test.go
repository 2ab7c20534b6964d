package calls

import (
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// callEffects are those of a worker's queue that nobody waits for.
type callEffects struct{ execute.Effects }

func (callEffects) LookSoon()       {}
func (callEffects) Wake(*wait.Wait) {}

// pipe is a caller's connection that nobody reads.
type pipe struct{ b []byte }

func (p *pipe) Buffer() []byte     { return p.b }
func (p *pipe) Queue(b []byte)     { p.b = b }
func (p *pipe) Unsent() int        { return len(p.b) }
func (*pipe) Flush()               {}
func (*pipe) FlushUntil(time.Time) {}
func (*pipe) SendSoon()            {}
func (*pipe) SendLater()           {}
func (*pipe) Sent()                {}
func (*pipe) WhenSent(func())      {}
func (*pipe) Pause()               {}
func (*pipe) Resume()              {}
func (*pipe) Paused() bool         { return false }
func (*pipe) Closed() bool         { return false }
func (*pipe) HearWakeup(uint64)    {}
func (*pipe) FD() int              { return -1 }

// A submission belongs to the call that the program names; without a name to the
// only task that runs. Threads of actors are nobody's.
func TestParent_NamedOrTheOnlyTaskThatRuns(t *testing.T) {
	call := func(seq uint32) []byte {
		b, at := frame.BeginTask(nil, seq, 1, uint64(seq)*100, false)
		return frame.End(frame.AppendCount(frame.AppendInline(b, store.AppendEnvelope(nil, store.FormatNone, nil)), 0), at)
	}
	task := [][]byte{frame.AppendTemplate(nil, &frame.Template{ID: 1, Kind: frame.KindTask, FID: make([]byte, 16), Name: "f", Returns: 1, Blob: []byte("code")}), call(1)}
	method := frame.AppendTemplate(nil, &frame.Template{ID: 1, Kind: frame.KindMethod, Method: "m", Name: "A.m", Returns: 1})
	for _, x := range []struct {
		what  string
		named uint64
		calls [][]byte
		want  uint64
	}{
		{"a driver names none", 0, nil, 0},
		{"a driver names one", 5, nil, 5},
		{"a driver says nobody", NoParent, nil, 0},
		{"a task runs", 0, task, 1},
		{"a task runs, another is named", 5, task, 5},
		{"a task runs, nobody is named", NoParent, task, 0},
		{"two tasks run", 0, append(slices.Clone(task), call(2)), 0},
		{"nothing runs", 0, [][]byte{}, 0},
		{"a method runs", 0, [][]byte{method, task[1]}, 0},
	} {
		var c Calls
		if x.calls != nil {
			w := execute.New(callEffects{}, ids.JobOf(1))
			c.CallsOf(w)
			k := w.AddCaller(new(pipe), &wire.Hello{Role: wire.RoleLease}, -1)
			for _, b := range x.calls {
				if used, err := k.Frames(b); err != nil || used != len(b) {
					t.Fatalf("%s: %d of %d bytes, %v", x.what, used, len(b), err)
				}
			}
			for w.Waiting() > 0 {
				w.Next(w.Lane(""))
			}
		}
		if got := c.parent(x.named); got != x.want {
			t.Errorf("%s: call %d, want %d", x.what, got, x.want)
		}
	}
}

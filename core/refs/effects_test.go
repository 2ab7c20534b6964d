package refs

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// recorder notes the effects of a table in their order.
type recorder struct {
	seen []string
	then func() // runs at the next effect
}

func (r *recorder) note(format string, args ...any) {
	r.seen = append(r.seen, fmt.Sprintf(format, args...))
	if f := r.then; f != nil {
		r.then = nil
		f()
	}
}

func (r *recorder) Wake(w *wait.Wait) {
	if w.End() {
		r.note("wake")
	}
}
func (r *recorder) Ready(t Task) { r.note("task %d ready", t) }
func (r *recorder) Infeasible(t Task, why *fault.Error) {
	r.note("task %d infeasible: %s", t, why.Message)
}
func (r *recorder) Reply(q *wire.Message, o *Object) { r.note("reply %d: state %d", q.ID, o.state) }

// job is a task of the tests. While a recipe keeps it, it takes 100 bytes.
type job int

func (job) IsActor() bool        { return false }
func (job) LineageBytes() uint64 { return 100 }

// someActor is an actor of the tests.
type someActor struct{}

func (someActor) IsActor() bool { return true }

// There may be a million objects, so each field counts.
func TestObject_Size_DoesNotGrow(t *testing.T) {
	if n := unsafe.Sizeof(Object{}); n > 192 {
		t.Errorf("an object takes %d bytes, want 192 at most", n)
	}
}

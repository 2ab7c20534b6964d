package refs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// recorder notes the effects of a table in their order.
type recorder struct {
	seen []string
	then func() // runs at the next effect

	siblings map[*Object][]*Object
	keeps    *Object                 // the session keeps the memory of its copy
	name     func(ids.Object) string // of an object, nil: its count
	closed   bool
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

func (r *recorder) Refuse(q *wire.Message, why error) {
	r.note("refuse %d: %s", q.ID, fault.CodeOf(why))
}

func (r *recorder) Borrow(o *Object)          { r.note("borrow %s", r.of(o.ID)) }
func (r *recorder) GiveBack(o *Object)        { r.note("give back %s", r.of(o.ID)) }
func (r *recorder) Ask(o *Object, q Question) { r.note("ask %s: question %d", r.of(o.ID), q) }
func (r *recorder) Receipt(worker string, answer uint64) {
	r.note("receipt to %s for answer %d", worker, answer)
}
func (r *recorder) AskRegistered(x *Retained, pause time.Duration) {
	r.note("ask %s what it has registered after %s", x.Worker(), pause)
}
func (r *recorder) AskRead(s TaskSocket, pause time.Duration) {
	r.note("ask %s what it has read from %s after %s", s.Addr, socketName(s), pause)
}

func (r *recorder) ArrivalSite(site uint32) uint32 {
	r.note("arrival at %d", site)
	return site
}

func (r *recorder) Check(list []*Object) bool {
	r.note("check %s", r.all(list))
	return !r.closed
}
func (r *recorder) Siblings(o *Object) []*Object { return r.siblings[o] }
func (r *recorder) Recompute(o *Object)          { r.note("recompute %s", r.of(o.ID)) }
func (r *recorder) Pointer(o *Object) []byte     { return fmt.Appendf(nil, "pointer to %s", r.of(o.ID)) }

func (r *recorder) Free(list [][]byte) {
	var all []*Object
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			panic(err)
		}
		all = append(all, &Object{ID: id})
	}
	r.note("free %s", r.all(all))
}
func (r *recorder) CopyLost(id ids.Object) { r.note("copy of %s is lost", r.of(id)) }
func (r *recorder) DropCopy(o *Object) bool {
	kept := r.keeps == o
	r.note("drop the copy of %s, kept: %v", r.of(o.ID), kept)
	return kept
}
func (r *recorder) SourceGone(s Source, o *Object) { r.note("the source of %s is told", r.of(o.ID)) }
func (r *recorder) RecipeGone(t Task)              { r.note("task %d is not kept", t) }
func (r *recorder) Unseen(o *Object)               { r.note("nobody looked at %s", r.of(o.ID)) }
func (r *recorder) Released(f func())              { f() }
func (r *recorder) DropView(view uint64)           { r.note("drop view %d", view) }
func (r *recorder) DropStream(g ids.Object)        { r.note("drop generator %s", r.of(g)) }
func (r *recorder) Needed()                        {}

// socketName is the name that the scripts give a task socket.
func socketName(s TaskSocket) string {
	if s.Actor {
		return fmt.Sprintf("a%d", s.Number)
	}
	return strconv.FormatUint(s.Number, 10)
}

// of names an object.
func (r *recorder) of(id ids.Object) string {
	if r.name != nil {
		return r.name(id)
	}
	return strconv.FormatUint(id.Count(), 10)
}

func (r *recorder) all(list []*Object) string {
	var words []string
	for _, o := range list {
		words = append(words, r.of(o.ID))
	}
	return strings.Join(words, " ")
}

// Take returns the objects that died since the last call.
func (t *Table) Take() []*Object {
	list := t.freed
	t.freed = nil
	return list
}

// TakeEvicted returns the objects that became Evicted since the last call.
func (t *Table) TakeEvicted() []*Object {
	list := t.evicted
	t.evicted = nil
	return list
}

// TakeUnused returns the tasks of the recipes that were dropped since the last call.
func (t *Table) TakeUnused() []Task {
	list := t.unused
	t.unused = nil
	return list
}

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

package templates

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// keptEnds is how many ended tasks a process remembers.
const keptEnds = 1024

// MaxEnds bounds for how many names the tasks of retired templates are counted.
const MaxEnds = 1000

// manyNames stands for names that are too many to be kept.
const manyNames = "(other functions)"

// ended is what is remembered of a task that has ended.
type ended[C any] struct {
	first  uint64
	tmpl   *Template[C]
	actor  ids.Actor
	tries  int32
	failed bool
	why    *Why
}

// Why says why a task has failed.
type Why struct {
	Code string // a code of package fault, or wire.Raised
	Text string
}

// NewWhy returns a Why with the beginning of a text.
func NewWhy(code, text string) *Why {
	if len(text) > wire.MaxTaskError {
		text = strings.ToValidUTF8(text[:wire.MaxTaskError], "")
	}
	return &Why{code, strings.Clone(text)}
}

// Endings are the latest tasks of this process that have ended. How many tasks of
// each function have ended is counted in its template.
type Endings[C any] struct {
	ring    *[keptEnds]ended[C]
	n       uint64
	Retired map[[2]string]*wire.Ends // what templates had counted that are gone
}

// Add notes the end of a task, whose first return has this count. Actor is nil for a task
// that is no call of an actor, and why is nil where nothing is known of a failure. Every task comes here, so Add reads no
// clock and allocates nothing.
func (x *Endings[C]) Add(first uint64, t *Template[C], actor *ids.Actor, tries int32, failed bool, why *Why) {
	if x.ring == nil {
		x.ring = new([keptEnds]ended[C])
	}
	e := &x.ring[x.n%keptEnds]
	x.n++
	e.first, e.tmpl, e.tries, e.failed, e.why = first, t, tries, failed, why
	if actor != nil {
		e.actor = *actor
	} else {
		e.actor = ids.Actor{}
	}
}

// latest returns the rows of a census for the tasks that ended last, the latest one first.
func (x *Endings[C]) latest(limit int, task func(first uint64) ids.Task) (rows []wire.TaskRow) {
	for i := uint64(0); i < min(x.n, keptEnds) && len(rows) < limit; i++ {
		e := &x.ring[(x.n-1-i)%keptEnds]
		if e.tmpl.Hidden {
			continue
		}
		id := task(e.first)
		r := wire.TaskRow{TaskID: id[:], Name: e.tmpl.Name, Method: e.tmpl.Kind == frame.KindMethod, State: wire.TaskFinished, Attempt: attempt(e.tries, e.tmpl.MaxRetries), Resources: e.tmpl.Resources, GroupID: e.tmpl.GroupID()}
		if e.failed {
			r.State = wire.TaskFailed
			if e.why != nil {
				r.Code, r.Error = e.why.Code, e.why.Text
			}
		}
		if e.actor != (ids.Actor{}) {
			r.ActorID = bytes.Clone(e.actor[:])
		}
		rows = append(rows, r)
	}
	return rows
}

// attempt returns the number of a task's last attempt, from 0. A task that failed because its worker died has one try more, which was not begun.
func attempt(tries int32, most int) int {
	if most >= 0 {
		return min(int(tries), most)
	}
	return int(tries)
}

// AddEnded adds the tasks that have ended to a census, and how many of each function there
// were. Task returns the id of the task whose first return has a count.
func (x *Table[C]) AddEnded(t *wire.ProcessCensus, limit int, task func(first uint64) ids.Task) {
	t.Ended = append(t.Ended, x.Endings.latest(limit, task)...)
	by := map[[2]string]*wire.Ends{}
	for key, y := range x.Endings.Retired {
		z := *y
		by[key] = &z
	}
	for _, m := range x.AllTemplates() {
		if m.finished+m.failed > 0 && !m.Hidden {
			count(by, m, false)
		}
	}
	for _, y := range by {
		t.ByMaker = append(t.ByMaker, *y)
	}
	slices.SortFunc(t.ByMaker, func(a, b wire.Ends) int { return cmp.Compare(a.Name, b.Name) })
}

// retire keeps what a template counted.
func (x *Endings[C]) retire(t *Template[C]) {
	if t.finished+t.failed == 0 || t.Hidden {
		return
	}
	if x.Retired == nil {
		x.Retired = map[[2]string]*wire.Ends{}
	}
	count(x.Retired, t, len(x.Retired) >= MaxEnds)
}

// count adds what a template counted to the numbers of its name, or, when there are too many, of all other names.
func count[C any](by map[[2]string]*wire.Ends, t *Template[C], full bool) {
	key := [2]string{t.Name, t.KindName()}
	y := by[key]
	if y == nil && full {
		key[0] = manyNames
		y = by[key]
	}
	if y == nil {
		y = &wire.Ends{Name: key[0], Method: t.Kind == frame.KindMethod}
		by[key] = y
	}
	y.Finished += t.finished
	y.Failed += t.failed
}

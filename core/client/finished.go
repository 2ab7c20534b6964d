package client

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// keptEnds is how many ended tasks a process remembers.
const keptEnds = 1024

// ended is what is remembered of a task that has ended.
type ended struct {
	first  uint64
	tmpl   *Template
	actor  ids.Actor
	tries  int32
	failed bool
}

// endings are the latest tasks of this process that have ended. How many tasks of
// each function have ended is counted in its template.
type endings struct {
	ring    *[keptEnds]ended
	n       uint64
	retired map[[2]string]*wire.Ends // what templates had counted that are gone
}

// ends notes the end of a task. Every task comes here, so it reads no clock and allocates nothing.
func (c *submitter) ends(t *task) {
	x := &c.endings
	if x.ring == nil {
		x.ring = new([keptEnds]ended)
	}
	e := &x.ring[x.n%keptEnds]
	x.n++
	e.first, e.tmpl, e.tries, e.failed = t.first, t.tmpl, t.tries, t.failed
	if t.actor != nil {
		e.actor = t.actor.id
	} else {
		e.actor = ids.Actor{}
	}
	if t.failed {
		t.tmpl.failed++
	} else {
		t.tmpl.finished++
	}
	if t.tmpl.open--; t.tmpl.open == 0 && t.tmpl.Forget {
		c.lastEnded(t.tmpl)
	}
}

// become gives a task another template.
func (t *task) become(tm *Template) {
	if t.counted {
		t.tmpl.open--
		tm.open++
	}
	if t.recipe != nil {
		t.tmpl.recipes--
		tm.recipes++
	}
	t.tmpl = tm
}

// countEnded adds the tasks that have ended to a census, the latest one first.
func (c *submitter) countEnded(t *wire.ProcessCensus, limit int) {
	x := &c.endings
	for i := uint64(0); i < min(x.n, keptEnds, uint64(limit)); i++ {
		e := &x.ring[(x.n-1-i)%keptEnds]
		id := (&task{first: e.first}).id(c)
		r := wire.TaskRow{TaskID: bytes.Clone(id[:]), Name: e.tmpl.Name, Method: e.tmpl.Kind == KindMethod, State: wire.TaskFinished, Attempt: int(e.tries), Resources: e.tmpl.Resources}
		if e.failed {
			r.State = wire.TaskFailed
		}
		if e.actor != (ids.Actor{}) {
			r.ActorID = bytes.Clone(e.actor[:])
		}
		t.Ended = append(t.Ended, r)
	}
	by := map[[2]string]*wire.Ends{}
	for key, y := range x.retired {
		z := *y
		by[key] = &z
	}
	for _, m := range c.templates() {
		if m.finished+m.failed > 0 {
			ends(by, m, false)
		}
	}
	for _, y := range by {
		t.ByMaker = append(t.ByMaker, *y)
	}
	slices.SortFunc(t.ByMaker, func(a, b wire.Ends) int { return cmp.Compare(a.Name, b.Name) })
}

func kindName(t *Template) string {
	if t.Kind == KindMethod {
		return "method"
	}
	return "task"
}

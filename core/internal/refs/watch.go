package refs

import (
	"slices"

	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func (o *Object) watched() *watch {
	if o.watch == nil {
		o.watch = new(watch)
	}
	return o.watch
}

// Watched reports whether anything waits for the object, other than by a wait id.
func (o *Object) Watched() bool { return o.watch != nil }

// Waits returns the waits for the object that count it by no id.
func (o *Object) Waits() []*wait.Wait {
	if o.watch == nil {
		return nil
	}
	return o.watch.waits
}

// Tasks returns the tasks that wait for the object. The slice is the table's.
func (o *Object) Tasks() []Task {
	if o.watch == nil {
		return nil
	}
	return o.watch.tasks
}

// Questions returns what borrowers have asked about the object. The slice is the table's.
func (o *Object) Questions() []*wire.Message {
	if o.watch == nil {
		return nil
	}
	return o.watch.questions
}

// PatientQuestions returns the questions of borrowers who know that the object is infeasible. The slice is the table's.
func (o *Object) PatientQuestions() []*wire.Message {
	if o.watch == nil {
		return nil
	}
	return o.watch.patient
}

// Watch has the wait count the object when it becomes ready.
func (t *Table) Watch(o *Object, w *wait.Wait) {
	x := o.watched()
	x.waits = append(x.waits, w)
}

// Unwatch undoes one Watch.
func (t *Table) Unwatch(o *Object, w *wait.Wait) {
	if x := o.watch; x != nil {
		if i := slices.Index(x.waits, w); i >= 0 {
			x.waits = slices.Delete(x.waits, i, i+1)
		}
	}
}

// WatchBy has a task told when the object is ready or infeasible.
func (t *Table) WatchBy(o *Object, k Task) {
	x := o.watched()
	x.tasks = append(x.tasks, k)
}

// UnwatchBy undoes every WatchBy of the task.
func (t *Table) UnwatchBy(o *Object, k Task) {
	if x := o.watch; x != nil {
		x.tasks = slices.DeleteFunc(x.tasks, func(y Task) bool { return y == k })
	}
}

// Question has a borrower answered when the object is ready or infeasible.
func (t *Table) Question(o *Object, m *wire.Message) {
	x := o.watched()
	x.questions = append(x.questions, m)
}

// PatientQuestion has a borrower answered when the object is ready. That it is infeasible is no answer: the borrower knows.
func (t *Table) PatientQuestion(o *Object, m *wire.Message) {
	x := o.watched()
	x.patient = append(x.patient, m)
}

// settle tells everybody who waits that the object is ready or infeasible.
func (t *Table) settle(o *Object) {
	if o.waitID != 0 {
		if w := t.waitOf(o.waitID); w != nil {
			t.count(w, o)
		}
		if o.state != Infeasible {
			o.waitID = 0
		}
	}
	x := o.watch
	if x == nil {
		return
	}
	if o.state != Infeasible {
		o.watch = nil
	}
	for _, w := range x.waits {
		t.count(w, o)
	}
	if o.state == Infeasible {
		for _, k := range x.tasks {
			t.effects.Infeasible(k, o.fault)
		}
	} else {
		for _, k := range x.tasks {
			t.effects.Ready(k)
		}
	}
	t.reply(o, x)
}

// reply answers the borrowers who asked for an object that is ready or infeasible.
func (t *Table) reply(o *Object, x *watch) {
	asked := x.questions
	x.questions = nil
	if o.state != Infeasible {
		asked = append(asked, x.patient...)
		x.patient = nil
	}
	for _, m := range asked {
		t.effects.Reply(m, o)
	}
}

// count tells a wait that one of its objects is ready or infeasible.
func (t *Table) count(w *wait.Wait, o *Object) {
	ends := false
	if o.state == Infeasible {
		ends = w.Infeasible()
	} else {
		ends = w.Ready(o.isError || o.state == Failed)
	}
	if ends {
		t.effects.Wake(w)
	}
}

// countAgain tells the waits that an object of theirs, which they have counted as infeasible, can become ready.
func (t *Table) countAgain(o *Object) {
	if o.waitID != 0 {
		if w := t.waitOf(o.waitID); w != nil {
			w.Feasible()
		}
	}
	if x := o.watch; x != nil {
		for _, w := range x.waits {
			w.Feasible()
		}
	}
}

// waitOf returns the wait with an id, nil when it has ended.
func (t *Table) waitOf(id uint32) *wait.Wait {
	for i := range t.waits {
		if t.waits[i].id == id {
			return t.waits[i].wait
		}
	}
	return nil
}

package submit

import (
	"testing"
)

// counted is the played world of the submitting half, which counts how often the session is told that the process
// is needed less.
type counted struct {
	*played
	told int
}

// LessNeeded implements Effects.
func (w *counted) LessNeeded() { w.told++ }

// A process that goes on working does not ask at the end of each call whether somebody waits for its end: that is on
// the way of every call. A process that is to end is told when its last task has ended.
func TestEndTask_TellsThatItIsLessNeeded_OnlyAProcessThatLeaves(t *testing.T) {
	p := newPlaying(t, 1)
	w := &counted{played: p.played}
	p.s.fx = w
	for _, x := range []struct {
		leaving bool
		tasks   int
		told    int
	}{
		{false, 1, 0},
		{false, 3, 0},
		{true, 1, 1},
		{true, 3, 1}, // by the last of them
		{false, 1, 0},
	} {
		p.s.Leaves(x.leaving)
		w.told = 0
		var list []*Task
		for range x.tasks {
			one := &Task{Template: p.tmpls[0], Returns: 1}
			p.s.Count(one)
			list = append(list, one)
		}
		for i, one := range list {
			p.s.endTask(one)
			if want := x.told; i < len(list)-1 && w.told != 0 || i == len(list)-1 && w.told != want {
				t.Errorf("leaving %v, %d of %d tasks have ended: the session was told %d times, want %d at the end", x.leaving, i+1, x.tasks, w.told, want)
			}
		}
	}
	if p.s.Open != 0 {
		t.Errorf("%d tasks are unfinished", p.s.Open)
	}
}

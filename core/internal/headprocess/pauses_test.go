package headprocess

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

func restarted(reason record.Reason, address string) *record.Actor {
	return &record.Actor{ID: ids.Actor{1}, Incarnation: 2, Cause: record.Cause{Reason: reason}, Previous: record.Instance{Incarnation: 1, Address: address}}
}

func TestPauses_WorkerDiesAtStart_LongerEachTimeUntilTheMost(t *testing.T) {
	var p pauses
	fails := func() time.Duration { return p.before(restarted(record.WorkerDied, ""), nil) }
	if d := p.before(&record.Actor{ID: ids.Actor{1}, Incarnation: 1}, nil); d != 0 {
		t.Errorf("a new actor waits %v", d)
	}
	for i, want := range []time.Duration{0, firstPause, 2 * firstPause, 4 * firstPause} {
		if d := fails(); d != want {
			t.Errorf("after %d failures it waits %v, want %v", i+1, d, want)
		}
	}
	for range 40 {
		fails()
	}
	if d := fails(); d != maxPause {
		t.Errorf("after many failures it waits %v", d)
	}
	for name, a := range map[string]*record.Actor{
		"that had started": restarted(record.WorkerDied, "x"), "that was killed": restarted(record.Killed, ""), "of a dead node": restarted(record.NodeDied, ""),
	} {
		fails()
		fails()
		if d := p.before(a, nil); d != 0 {
			t.Errorf("an actor %s waits %v", name, d)
		}
		if d := fails(); d != 0 {
			t.Errorf("after an actor %s, the first failure costs %v", name, d)
		}
	}
}

func TestPauses_ActorsAreDead_AreForgotten(t *testing.T) {
	var p pauses
	for i := range 5 * manyPauses {
		a := restarted(record.OutOfMemory, "")
		binary.BigEndian.PutUint32(a.ID[:], uint32(i))
		p.before(a, func(id ids.Actor) bool { return id[3] == 0 })
	}
	if n := len(p.failed); n > manyPauses+20 {
		t.Errorf("%d are kept", n)
	}
}

package submit

import (
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
)

// process is a quiet session that numbers the names of functions, as a session does.
type process struct{ *quiet }

func (process) Maker(*Template) uint32 { return 5 }

// newProcess returns a process. All have the same identity, as a worker and its successor have.
func newProcess(t *testing.T) process {
	t.Helper()
	p := process{newQuiet(t)}
	p.fx = p
	return p
}

// sameTexts are texts that have the same numbers everywhere.
type sameTexts struct{}

func (sameTexts) TextsOf(*refs.Object) (site, maker string) { return "", "" }
func (sameTexts) NumberOf(string) uint32                    { return 0 }

// successorOf makes a process from the snapshots of another one, by way of the bytes that a
// worker sends. It is not resumed.
func successorOf(t *testing.T, p process) (process, *Restored) {
	t.Helper()
	tasks, channels := p.Snapshot()
	if len(channels) != len(tasks.Channels) {
		t.Fatalf("a snapshot of %d channels comes with %d", len(tasks.Channels), len(channels))
	}
	objects, sent := new(refs.Snapshot), new(snapshot.Submitter)
	travel(t, p.table.Snapshot(sameTexts{}), objects)
	travel(t, tasks, sent)
	next := newProcess(t)
	if err := next.table.Restore(objects, sameTexts{}); err != nil {
		t.Fatal(err)
	}
	r, err := next.Submitter.Restore(sent)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Channels() {
		o.Pipe = new(silentPipe)
	}
	return next, r
}

// travel decodes what a value was encoded to.
func travel(t *testing.T, from, to any) {
	t.Helper()
	b, err := msgpack.Marshal(from)
	if err == nil {
		err = msgpack.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

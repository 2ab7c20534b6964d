package head

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/record"
)

// records is a state of fixed records that notes which actors are ended, and
// answers Watch with what the test has prepared.
type records struct {
	State
	actors []record.Actor
	jobs   []record.Job
	nodes  []record.Node
	groups []record.Group
	ended  []string
	refuse error // what a change is answered with
	watch  []error
	met    chan record.Cursor // the cursors that Watch was called with
}

func (s *records) ListJobs() []record.Job   { return s.jobs }
func (s *records) ListNodes() []record.Node { return s.nodes }
func (s *records) Node(id ids.Node) (record.Node, bool) {
	i := slices.IndexFunc(s.nodes, func(n record.Node) bool { return n.ID == id })
	if i < 0 {
		return record.Node{}, false
	}
	return s.nodes[i], true
}
func (s *records) ListGroups() []record.Group {
	return s.groups
}
func (s *records) Group(id ids.Group) (record.Group, bool) {
	i := slices.IndexFunc(s.groups, func(g record.Group) bool { return g.ID == id })
	if i < 0 {
		return record.Group{}, false
	}
	return s.groups[i], true
}
func (s *records) ActorsOf(f record.ActorFilter) (list []record.Actor) {
	for _, a := range s.actors {
		if f.Match(&a) {
			list = append(list, a)
		}
	}
	return list
}

func (s *records) Actor(id ids.Actor) (record.Actor, bool) {
	i := slices.IndexFunc(s.actors, func(a record.Actor) bool { return a.ID == id })
	if i < 0 {
		return record.Actor{}, false
	}
	return s.actors[i], true
}

func (s *records) ActorRestarting(_ context.Context, id ids.Actor, incarnation uint64, c record.Cause) error {
	s.ended = append(s.ended, fmt.Sprintf("%c#%d restarts: %s", id[0], incarnation, c))
	return s.refuse
}

func (s *records) ActorDead(_ context.Context, id ids.Actor, incarnation uint64, c record.Cause, _ int64) error {
	s.ended = append(s.ended, fmt.Sprintf("%c#%d dies: %s", id[0], incarnation, c))
	return s.refuse
}

func (s *records) EndJob(_ context.Context, id ids.Job, state record.JobState, why string, _ int64) error {
	s.ended = append(s.ended, fmt.Sprintf("job %d %s: %s", record.JobNumber(id), state, why))
	return s.refuse
}

func (s *records) Now() record.Cursor { return record.Cursor{Seq: 7} }

func (s *records) Watch(ctx context.Context, from record.Cursor) (record.Batch, error) {
	s.met <- from
	if len(s.watch) == 0 {
		<-ctx.Done()
		return record.Batch{}, ctx.Err()
	}
	err := s.watch[0]
	s.watch = s.watch[1:]
	return record.Batch{Next: record.Cursor{Seq: 9}}, err
}

func quietHead(s State, log *bytes.Buffer) *Head {
	h := &Head{state: s, placer: &counter{}, groups: noGroups{}, tracker: newTracker(), groupRows: groupTracker{}, inbox: newInbox(), nowMs: func() int64 { return 1 }, log: slog.New(slog.NewTextHandler(log, nil))}
	h.keyLeases = newKeyKeeper(h)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// A head that begins to lead ends the actors whose job, node or placement group is gone, as a
// leader that fell may have left that half done; others it leaves alone.
func TestFeed_BeginsToLead_EndsWhoseJobOrNodeIsGone(t *testing.T) {
	over, running := ids.JobOf(1), ids.JobOf(2)
	gone, there := ids.Node{'g'}, ids.Node{'t'}
	s := &records{
		jobs: []record.Job{
			{ID: over, State: record.JobFinished, Node: gone}, {ID: running, State: record.JobRunning, Node: there},
			{ID: ids.JobOf(3), State: record.JobRunning, Node: gone},
		},
		nodes: []record.Node{{ID: gone, State: record.NodeDead, Reason: "no heartbeat"}, {ID: there, State: record.NodeAlive}},
	}
	add := func(name byte, job ids.Job, node ids.Node, change func(*record.Actor)) {
		a := actor(name, record.ActorAlive, 3)
		a.Job, a.Node = job, node
		change(&a)
		s.actors = append(s.actors, a)
	}
	as := func(*record.Actor) {}
	add('A', running, there, as)
	add('B', over, there, as)
	add('C', over, there, func(a *record.Actor) { a.Detached = true })
	add('D', running, gone, as)
	add('E', running, gone, func(a *record.Actor) { a.MaxRestarts = 1 })
	add('F', over, gone, func(a *record.Actor) { a.MaxRestarts = 1 })
	add('G', over, gone, func(a *record.Actor) { a.State = record.ActorDead })
	add('H', over, gone, func(a *record.Actor) { a.Detached, a.MaxRestarts = true, -1 })
	s.groups = []record.Group{{ID: ids.Group{1}, State: record.GroupRemoved, Why: "by hand"}, {ID: ids.Group{2}, State: record.GroupCreated}}
	inGroup := func(n byte) func(*record.Actor) {
		return func(a *record.Actor) {
			a.Strategy, a.MaxRestarts = strategy.Strategy{Kind: strategy.Group, Group: ids.Group{n}}.Text(), -1
		}
	}
	add('I', running, there, inGroup(1))
	add('J', running, there, inGroup(2))
	add('K', running, there, inGroup(3))
	var log bytes.Buffer
	h := quietHead(s, &log)
	h.events(record.Batch{Leading: false})
	if len(s.ended) > 0 {
		t.Errorf("a head that does not lead ends %v", s.ended)
	}
	h.events(record.Batch{Leading: true})
	byJob, byNode := jobEnded(over).String(), nodeDied(&s.nodes[0]).String()
	byNodes := "job 3 LOST: the node of its driver is gone: no heartbeat"
	want := []string{byNodes, "B#3 dies: " + byJob, "D#3 dies: " + byNode, "E#3 restarts: " + byNode, "F#3 dies: " + byJob, "H#3 restarts: " + byNode,
		"I#3 dies: " + groupRemoved(&s.groups[0]).String(), "K#3 dies: " + record.Cause{Reason: record.GroupGone, Message: "placement group 030000000000000000000000000000000000 is not known"}.String()}
	if !slices.Equal(s.ended, want) {
		t.Errorf("ended %q, want %q", s.ended, want)
	}
}

// Watching begins where the state is now, goes on after what was compacted
// from where the state is then, and ends with an error that it tells the log.
func TestFeed_Watch_GoesOnUntilAnError(t *testing.T) {
	var log bytes.Buffer
	s := &records{watch: []error{nil, record.ErrCompacted, errors.New("disk on fire")}, met: make(chan record.Cursor, 9)}
	h := quietHead(s, &log)
	h.feed()
	close(s.met)
	var from []uint64
	for c := range s.met {
		from = append(from, c.Seq)
	}
	if !slices.Equal(from, []uint64{7, 9, 7}) || !strings.Contains(log.String(), "disk on fire") {
		t.Errorf("watched from %v, the log says %q", from, log.String())
	}
	if items := h.inbox.take(); len(items) != 2 {
		t.Errorf("%d items are put, want a batch and a look at everything", len(items))
	}
	log.Reset()
	s.met = make(chan record.Cursor, 9)
	h.cancel()
	if h.feed(); log.Len() > 0 || len(s.met) != 1 {
		t.Errorf("a head that is closed watches %d times and logs %q", len(s.met), log.String())
	}
}

// A report that is lost is logged, unless it came too late to matter or the
// head is closed.
func TestReports_Lost_AreLogged(t *testing.T) {
	lost := errors.New("no quorum")
	for _, c := range []struct {
		err    error
		closed bool
		logged bool
	}{
		{nil, false, false}, {lost, false, true}, {lost, true, false}, {record.ErrDead, false, false},
		{fmt.Errorf("actor: %w", record.ErrStale), false, false}, {record.ErrNotFound, false, false}, {record.ErrExists, false, true},
	} {
		var log bytes.Buffer
		h := quietHead(nil, &log)
		if c.closed {
			h.cancel()
		}
		h.logLost("actor placed", c.err)
		if told := strings.Contains(log.String(), "actor placed"); told != c.logged {
			t.Errorf("error %v, closed: %v: the log says %q", c.err, c.closed, log.String())
		}
	}
}

// An actor that has ended otherwise meanwhile is no error of a kill; what the
// state refuses for another reason is.
func TestHead_KillActor_ErrorsThatTellSomething(t *testing.T) {
	lost := errors.New("no quorum")
	for refuse, want := range map[error]error{nil: nil, record.ErrDead: nil, record.ErrStale: nil, lost: lost, record.ErrNotFound: record.ErrNotFound} {
		for _, noRestart := range []bool{false, true} {
			var log bytes.Buffer
			s := &records{actors: []record.Actor{actor('A', record.ActorAlive, 2)}, refuse: refuse}
			h := quietHead(s, &log)
			if err := h.KillActor(context.Background(), ids.Actor{'A'}, noRestart); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("the state says %v, the kill %v", refuse, err)
			}
			if len(s.ended) != 1 {
				t.Errorf("the state is asked for %v", s.ended)
			}
		}
	}
}

// Items come in the order in which they were put; after close none comes and
// none is taken.
func TestInbox_InOrderUntilClosed(t *testing.T) {
	b := newInbox()
	var done []int
	for i := range 3 {
		if !b.put(func() { done = append(done, i) }) {
			t.Fatal("an open inbox takes nothing")
		}
	}
	for _, item := range b.take() {
		item()
	}
	if !slices.Equal(done, []int{0, 1, 2}) {
		t.Errorf("done %v", done)
	}
	b.put(func() {})
	b.close()
	if b.put(func() {}) || b.take() != nil || b.take() != nil {
		t.Error("a closed inbox takes or gives something")
	}
}

// What was put before the head was closed is not done after it.
func TestHead_ClosedBetweenItems_DoesNoMore(t *testing.T) {
	var log bytes.Buffer
	h := quietHead(nil, &log)
	done := 0
	h.inbox.put(func() { done++; h.cancel(); h.inbox.close() })
	h.inbox.put(func() { done++ })
	h.work()
	if done != 1 {
		t.Errorf("%d items are done, want the one that closed the head", done)
	}
}

func TestOpen_NeedsStateAndPlacer_LogsByDefault(t *testing.T) {
	for _, o := range []Options{{}, {State: &records{}, Groups: noGroups{}}, {Placer: &counter{}, Groups: noGroups{}}, {State: &records{}, Placer: &counter{}}} {
		if h, err := Open(o); err == nil {
			h.Close()
			t.Errorf("%+v is opened", o)
		}
	}
	h, err := Open(Options{State: &records{met: make(chan record.Cursor, 9)}, Placer: &counter{}, Groups: noGroups{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.log != slog.Default() || h.nowMs() == 0 {
		t.Error("a head without options has no log or no clock")
	}
}

func TestAction_String_GivesUp(t *testing.T) {
	a := actor('A', record.ActorPending, 1)
	tr := newTracker()
	tr.actor(&a, true)
	expect(t, tr.infeasible(&a, 1, "needs 8 GPUs"))
	a.Released = true
	expect(t, tr.actor(&a, true), "give up A")
	expect(t, tr.infeasible(&a, 1, "needs 8 GPUs"), "give up A")
}

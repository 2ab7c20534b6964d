package headlink_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
)

// between has a request carried out whose answer is lost, restarts the head, and returns the answer.
func (w *world) between(s step) (any, error) {
	w.t.Helper()
	w.settle()
	w.answers.muted.Store(true)
	type answer struct {
		v   any
		err error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := s.do(w.ctx, w.daemon)
		got <- answer{v, err}
	}()
	select {
	case <-w.answers.lost:
	case a := <-got:
		w.t.Fatalf("%s: answered with %v, %v, though the answer was lost", s.name, a.v, a.err)
	case <-w.ctx.Done():
		w.t.Fatalf("%s: the head does not answer", s.name)
	}
	until(w.t, "the request has been carried out", func() bool { return w.server.Served() == 0 })
	w.restartHead()
	w.connect()
	a := <-got
	return a.v, a.err
}

// When the head's process ends between a change and the answer to it, the next process gives the answer that the first one
// would have given, and the cluster's state is as if each change had been asked for once.
func TestRestart_BetweenEachChangeAndItsAnswer_IsAsWithoutOne(t *testing.T) {
	here, there := near(t), far(t)
	changes := 0
	for _, s := range life() {
		want, wantErr := s.do(here.ctx, here.daemon)
		here.settle()
		var got any
		var gotErr error
		// That no node can take an actor is not in the state: the next head asks for the actor's placing again, and is told again.
		if isReport(s) || s.name == "resolve, infeasible" {
			got, gotErr = s.do(there.ctx, there.daemon)
		} else {
			changes++
			got, gotErr = there.between(s)
		}
		there.settle()
		if !reflect.DeepEqual(brief(got), brief(want)) || !sameError(gotErr, wantErr) && !knownExists(s.name, wantErr, gotErr) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v, %v", s.name, got, gotErr, want, wantErr)
		}
		for _, r := range reads() {
			if r.name == "sizes" { // what a head remembers besides the state begins anew
				continue
			}
			want, wantErr := r.do(here.ctx, here.daemon)
			got, gotErr := r.do(there.ctx, there.daemon)
			if !reflect.DeepEqual(brief(got), brief(want)) || !sameError(gotErr, wantErr) {
				t.Errorf("after %s, %s:\n got %+v, %v\nwant %+v, %v", s.name, r.name, got, gotErr, want, wantErr)
			}
		}
	}
	if changes < 20 {
		t.Errorf("only %d changes were cut", changes)
	}
}

// knownExists says which answer may differ: who asks twice for the same actor or group, and whose second request is repeated,
// learns that the actor is there without an error.
func knownExists(name string, want, got error) bool {
	return (name == "create, again" || name == "create a group, again") && errors.Is(want, record.ErrExists) && got == nil
}

// A node says to each new process of the head which actors it has, and those that ended meanwhile are stopped: the
// orders to stop them were lost with the head before.
func TestRestart_OrdersToStopAreLost_TheNodeIsToldAgain(t *testing.T) {
	w := far(t)
	for n := range byte(3) {
		if _, err := create(actor(n+1))(w.ctx, w.daemon); err != nil {
			t.Fatal(err)
		}
		w.daemon.ActorStarted(instance(n+1, 1))
		w.node.has = append(w.node.has, instance(n+1, 1))
	}
	w.settle()
	for _, s := range []step{{"kill, restart", kill(1, false)}, {"kill for good", kill(2, true)}} {
		if _, err := w.between(s); err != nil {
			t.Fatal(s.name, err)
		}
		w.settle()
	}
	said := w.node.said()
	for n, want := range []bool{true, true, false} {
		stop := fmt.Sprintf("stop %x#1 worker %x drain false", n+1, n+1)
		if slices.Contains(said, stop) != want {
			t.Errorf("%q was said: %v, want %v: %q", stop, !want, want, said)
		}
	}
	if again := fmt.Sprintf("place 1#2 %s", actor(1).Spec); !slices.Contains(said, again) {
		t.Errorf("no %q in %q", again, said)
	}
}

// isReport reports whether a step gets no answer.
func isReport(s step) bool {
	fake := &silent{}
	func() {
		defer func() { _ = recover() }() // a request meets the missing head
		_, _ = s.do(context.Background(), fake)
	}()
	return fake.reported
}

// silent is a head that has reports only.
type silent struct {
	daemon.Head
	reported bool
}

func (s *silent) ActorPlaced(record.Instance)                    { s.reported = true }
func (s *silent) ActorStarted(record.Instance)                   { s.reported = true }
func (s *silent) ActorStartFailed(record.Instance, record.Cause) { s.reported = true }
func (s *silent) ActorWorkerDied(record.Instance, record.Cause)  { s.reported = true }
func (s *silent) ActorExited(record.Instance, record.Cause)      { s.reported = true }
func (s *silent) ActorInfeasible(record.Instance, string)        { s.reported = true }
func (s *silent) ReleaseActor(ids.Actor)                         { s.reported = true }
func (s *silent) DropCode(ids.Actor)                             { s.reported = true }
func (s *silent) OwnerDied(ids.Owner)                            { s.reported = true }
func (s *silent) EndJob(ids.Job, record.JobState, string)        { s.reported = true }

// brief takes the log indexes out of records: they differ between two states, and a head that is started again has
// written more into its log.
func brief(v any) any {
	switch v := v.(type) {
	case record.Actor:
		v.Ordinal = 0
		return v
	case record.Resolution:
		v.Actor.Ordinal = 0
		return v
	case record.Group:
		v.Ordinal = 0
		return v
	case []record.Group:
		list := append([]record.Group(nil), v...)
		for i := range list {
			list[i].Ordinal = 0
		}
		return list
	case []record.Actor:
		list := append([]record.Actor(nil), v...)
		for i := range list {
			list[i].Ordinal = 0
		}
		return list
	case []record.Node:
		list := append([]record.Node(nil), v...)
		for i := range list {
			list[i].Ordinal = 0
		}
		return list
	}
	return v
}

// Each question that is under way when the head's process ends is answered by the next process.
func TestRestart_BetweenEachReadAndItsAnswer_IsAnswered(t *testing.T) {
	w := far(t)
	for _, s := range life()[:5] {
		_, _ = s.do(w.ctx, w.daemon)
	}
	for _, s := range reads() {
		if s.name == "sizes" {
			continue
		}
		want, wantErr := s.do(w.ctx, w.head)
		got, err := w.between(s)
		if !reflect.DeepEqual(got, want) || !sameError(err, wantErr) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v, %v", s.name, got, err, want, wantErr)
		}
	}
}

// A question that waits for an actor goes on waiting at the next process of the head.
func TestRestart_WhileActorIsWaitedFor_NextProcessAnswers(t *testing.T) {
	w := far(t)
	if err := w.daemon.CreateActor(w.ctx, actor(1)); err != nil {
		t.Fatal(err)
	}
	told := make(chan record.Resolution, 2)
	w.daemon.Resolve(ids.Actor{1}, 0, 0, func(r record.Resolution, _ error) { told <- r })
	w.daemon.Ended(ids.Actor{1}, 1, func(r record.Resolution, _ error) { told <- r })
	until(t, "the head waits", func() bool { return w.server.Served() == 2 })
	w.restartHead()
	w.connect()
	until(t, "the next head waits", func() bool { return w.server.Served() == 2 })
	w.daemon.ActorStarted(instance(1, 1))
	if r := <-told; r.State != record.ActorAlive {
		t.Errorf("got %s", r)
	}
	w.daemon.ActorWorkerDied(instance(1, 1), record.Cause{Reason: record.WorkerDied})
	if r := <-told; r.State != record.ActorRestarting {
		t.Errorf("got %s", r)
	}
	if n := w.client.Asked(); n != 0 {
		t.Errorf("%d questions are left", n)
	}
}

// written notes the reports as they reach the head.
type written struct {
	headlink.Head
	mu   sync.Mutex
	list []string
	gate func() error // what the commit of reports does; nil: the head's own
}

func (h *written) OwnerDied(o ids.Owner) {
	h.note("owner", int(o[4])<<8|int(o[5]))
	h.Head.OwnerDied(o)
}

func (h *written) note(what string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprint(what, n))
}

func (h *written) said() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.list...)
}

// owner is a process of the one node.
func owner(n int) ids.Owner { return ids.Owner{3: nodeNumber, 4: byte(n >> 8), 5: byte(n)} }

// Reports that are made while the connection is cut again and again reach the head once each and in order.
func TestOutbox_ConnectionIsCutAgainAndAgain_EachReportOnceAndInOrder(t *testing.T) {
	w := newWorld(t, true)
	var seen written
	w.wrap = func(h headlink.Head) headlink.Head {
		seen.Head = h
		return &seen
	}
	w.startHead(true)
	const portion, cuts = 100, 30
	const n = portion * cuts
	for i := range cuts {
		for k := range portion {
			w.client.OwnerDied(owner(i*portion + k))
		}
		w.connect()
		w.cut() // during the hello: the head may read it after that of the next connection
		w.connect()
		until(t, "more reports arrive", func() bool { return len(seen.said()) > i*portion+37 })
		w.cut()
	}
	w.connect()
	w.settle()
	got := seen.said()
	if len(got) != n {
		t.Fatalf("%d of %d reports arrived over %d cuts", len(got), n, cuts)
	}
	for i, s := range got {
		if s != fmt.Sprint("owner", i) {
			t.Fatalf("report %d is %s", i, s)
		}
	}
}

// AwaitReports fails when the gate says so.
func (h *written) AwaitReports(ctx context.Context) error {
	if h.gate != nil {
		if err := h.gate(); err != nil {
			return err
		}
	}
	return h.Head.AwaitReports(ctx)
}

// Reports that the head has not committed when its process ends are made again to the next one, and those that it had
// committed are not.
func TestOutbox_HeadEndsBeforeCommit_ReportsGoToTheNext(t *testing.T) {
	w := newWorld(t, true)
	var first, second written
	first.gate = func() error {
		if len(first.said()) > 0 {
			return errors.New("the disk is slow")
		}
		return nil
	}
	w.wrap = func(h headlink.Head) headlink.Head {
		first.Head = h
		return &first
	}
	w.startHead(true)
	w.connect()
	const n = headlink.MaxUnderWay + 50
	for i := range n {
		w.client.OwnerDied(owner(i))
	}
	until(t, "the reports that may be under way arrive", func() bool { return len(first.said()) >= headlink.MaxUnderWay })
	if left := w.client.Unreported(); left != n {
		t.Errorf("%d of %d reports are kept, though none is committed", left, n)
	}
	for _, s := range first.said() {
		var k int
		if _, err := fmt.Sscanf(s, "owner%d", &k); err != nil || k >= headlink.MaxUnderWay {
			t.Fatalf("%s was sent, and none before it was acknowledged", s)
		}
	}
	w.wrap = func(h headlink.Head) headlink.Head {
		second.Head = h
		return &second
	}
	w.restartHead()
	w.connect()
	w.settle()
	got := second.said()
	if len(got) != n {
		t.Fatalf("%d of %d reports arrived", len(got), n)
	}
	for i, s := range got {
		if s != fmt.Sprint("owner", i) {
			t.Fatalf("report %d is %s", i, s)
		}
	}
	w.client.OwnerDied(owner(n))
	w.settle()
	w.restartHead()
	w.connect()
	w.settle()
	if again := len(second.said()) - n; again != 1 {
		t.Errorf("%d reports were made after that, and 1 was new", again)
	}
}

// Orders that are given while the node is away reach it in order and once, over cuts and until the head's process ends.
func TestOrders_NodeIsAway_EachOnceAndInOrder(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	var want []string
	for i := range 1000 {
		switch i % 200 { // some orders wait for a connection, the first ones for the node's first
		case 50:
			w.connect()
		case 150:
			w.cut()
		}
		a := actor(2)
		a.Spec = fmt.Append(nil, i)
		if err := w.server.Order(nodeNumber, a); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("place 2#0 %d", i))
	}
	w.connect()
	until(t, "all orders are taken", func() bool { return w.server.Untaken(nodeNumber) == 0 })
	if got := w.node.said(); !reflect.DeepEqual(got, want) {
		t.Errorf("%d orders were carried out, not %d in order", len(got), len(want))
	}
}

// A head that accepts a connection and says nothing, or none at all, does not hold anybody beyond his context, and the
// errors say what is known.
func TestClient_HeadIsSilent_ErrorsSayWhatIsKnown(t *testing.T) {
	w := newWorld(t, true)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if _, err := w.client.Nodes(soon()); fault.CodeOf(err) != fault.HeadUnavailable || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a question without a connection: %v", err)
	}
	if err := w.client.CreateActor(soon(), actor(1)); fault.CodeOf(err) != fault.HeadUnavailable {
		t.Errorf("a change without a connection: %v", err)
	}
	w.startHead(true)
	w.connect()
	if _, err := w.client.Nodes(w.ctx); err != nil { // the head answers
		t.Fatal(err)
	}
	w.answers.muted.Store(true)
	if _, err := w.client.Nodes(soon()); fault.CodeOf(err) != fault.DeadlineExceeded {
		t.Errorf("a question to a silent head: %v", err)
	}
	err := w.client.CreateActor(soon(), actor(1))
	if fault.CodeOf(err) != fault.MayHaveBeenApplied || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change at a silent head: %v", err)
	}
	cancel := w.client.Resolve(ids.Actor{50}, 0, time.Minute, func(record.Resolution, error) { t.Error("a cancelled question is answered") })
	until(t, "the head waits", func() bool { return w.server.Served() == 1 })
	if !cancel() || cancel() {
		t.Error("a question is cancelled once")
	}
	until(t, "the head forgets the question", func() bool { return w.server.Served() == 0 })
	ended := make(chan error, 1)
	w.client.Ended(ids.Actor{1}, 1, func(_ record.Resolution, err error) { ended <- err })
	w.client.Close()
	if err := <-ended; fault.CodeOf(err) != fault.Closed {
		t.Errorf("a question at the end: %v", err)
	}
	if _, err := w.client.Jobs(w.ctx); fault.CodeOf(err) != fault.Closed {
		t.Errorf("a question after the end: %v", err)
	}
}

// A node hears of all nodes and jobs when it connects, and of each change, also of one that it has missed.
func TestNews_NodeWasAway_HearsOfWhatIsOver(t *testing.T) {
	w := far(t)
	for _, s := range life()[:2] {
		if _, err := s.do(w.ctx, w.daemon); err != nil {
			t.Fatal(err)
		}
	}
	job := ids.JobOf(1)
	until(t, "the node hears of the job", func() bool { return w.node.job(job) == record.JobRunning })
	w.cut()
	w.head.EndJob(job, record.JobLost, "")
	if err := w.head.AwaitReports(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.connect()
	until(t, "the node hears of the job's end", func() bool { return w.node.job(job) == record.JobLost })
	w.restartHead()
	second := record.Job{Namespace: "ns", Driver: ids.Owner{2}}
	id, err := w.head.StartJob(w.ctx, second)
	if err != nil {
		t.Fatal(err)
	}
	w.connect()
	until(t, "the node hears of the second job", func() bool { return w.node.job(id) == record.JobRunning })
}

// A new connection takes over from one that has not ended, at both ends, and what was under way is answered.
func TestClient_SecondConnection_TakesOver(t *testing.T) {
	w := far(t)
	if err := w.daemon.CreateActor(w.ctx, actor(1)); err != nil {
		t.Fatal(err)
	}
	told := make(chan record.Resolution, 1)
	w.daemon.Resolve(ids.Actor{1}, 0, 0, func(r record.Resolution, _ error) { told <- r })
	until(t, "the head waits", func() bool { return w.server.Served() == 1 })
	first := w.answers
	w.connect()
	var b [1]byte
	if _, err := first.Conn.Write(b[:]); err == nil {
		until(t, "the first connection ends", func() bool { _, err := first.Conn.Write(b[:]); return err != nil })
	}
	w.daemon.ActorStarted(instance(1, 1))
	if r := <-told; r.State != record.ActorAlive {
		t.Errorf("got %s", r)
	}
	w.settle()
	w.client.Close()
	w.connect() // is refused
	until(t, "the connection ends", func() bool { _, err := w.answers.Conn.Write(b[:]); return err != nil })
}

// The silence counts from the head's last word, not from when the connection was noticed to be gone.
func TestClient_ConnectionIsLostAfterSilence_ErrorTellsTheWholeSilence(t *testing.T) {
	w := far(t)
	if _, err := w.client.Nodes(w.ctx); err != nil {
		t.Fatal(err)
	}
	if silence := w.client.Silence(); silence > patience {
		t.Errorf("a head that has just answered is silent for %v", silence)
	}
	w.answers.muted.Store(true)
	const long = 200 * time.Millisecond
	until(t, "the head is silent", func() bool { return w.client.Silence() > long })
	w.cut()
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	told := regexp.MustCompile(`has not been reachable for ([0-9a-z.]+)\. `)
	var found []string
	until(t, "the loss is noticed", func() bool {
		_, err := w.client.Nodes(ctx)
		found = told.FindStringSubmatch(fmt.Sprint(err))
		return found != nil
	})
	if silence, err := time.ParseDuration(found[1]); err != nil || silence < long {
		t.Errorf("the head was silent for more than %v, and the error says %v (%v)", long, found[1], err)
	}
}

// fullHeads are heads that cannot keep large values.
type fullHeads struct{ headlink.Head }

var errUnkept = &record.BlobNotKeptError{Why: fault.New(fault.OutOfDisk, "the disk is full")}

func (fullHeads) PutKV(context.Context, string, string, []byte, bool) (bool, error) {
	return false, errUnkept
}
func (fullHeads) CreateActor(context.Context, record.Actor) error { return errUnkept }

// The next head cannot keep the large values of changes which the head before it has made: no node hears that they were not made.
func TestRestart_NextHeadCannotKeepLargeValues_NoChangeIsSaidNotToBeMade(t *testing.T) {
	full := func(h headlink.Head) headlink.Head { return fullHeads{h} }
	for _, c := range []struct {
		name string
		do   func(context.Context, daemon.Head) (any, error)
		want error
	}{
		{"put a key", func(ctx context.Context, h daemon.Head) (any, error) {
			return h.PutKV(ctx, "ns", "k", []byte("v"), true)
		}, record.ErrMayHaveBeenApplied},
		{"create an actor", func(ctx context.Context, h daemon.Head) (any, error) { return nil, h.CreateActor(ctx, actor(1)) }, nil},
	} {
		w := far(t)
		if _, err := w.client.Nodes(w.ctx); err != nil { // the head has welcomed the node
			t.Fatal(err)
		}
		w.wrap = full // the next process
		if _, err := w.between(step{name: c.name, do: c.do}); !errors.Is(err, c.want) {
			t.Errorf("%s: its answer was lost: %v", c.name, err)
		}
	}
	w := far(t)
	w.wrap = full
	w.restartHead()
	w.connect()
	for name, err := range map[string]error{
		"create an actor": w.client.CreateActor(w.ctx, actor(2)),
		"put a key":       func() error { _, err := w.client.PutKV(w.ctx, "ns", "k", nil, true); return err }(),
	} {
		if fault.CodeOf(err) != fault.OutOfDisk || errors.Is(err, record.ErrMayHaveBeenApplied) || !strings.HasSuffix(err.Error(), ". Nothing was changed") {
			t.Errorf("%s, for the first time: %v", name, err)
		}
	}
}

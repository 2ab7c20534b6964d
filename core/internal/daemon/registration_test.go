package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/await"
)

// slowHead is a head whose registrations last until the test lets them end.
type slowHead struct {
	Head
	arrived chan ids.Actor
	proceed chan error

	mu     sync.Mutex
	actors []record.Actor
	ended  []string
}

func newSlowHead() *slowHead {
	return &slowHead{arrived: make(chan ids.Actor, 8), proceed: make(chan error)}
}

func (h *slowHead) CreateActor(_ context.Context, a record.Actor) error {
	h.arrived <- a.ID
	if err := <-h.proceed; err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a.State = record.ActorPending
	h.actors = append(h.actors, a)
	return nil
}

func (h *slowHead) ActorsOf(_ context.Context, f record.ActorFilter) (list []record.Actor, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.actors {
		if f.Match(&a) {
			list = append(list, a)
		}
	}
	return list, nil
}

func (h *slowHead) OwnerDied(o ids.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.actors = slices.DeleteFunc(h.actors, func(a record.Actor) bool { return a.Owner == o && !a.Detached })
}

func (h *slowHead) EndJob(_ ids.Job, s record.JobState, _ string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = append(h.ended, string(s))
}

// jobEnds returns what the head was told about the ends of jobs.
func (h *slowHead) jobEnds() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ended)
}

// receives waits for the registration of the actor.
func (h *slowHead) receives(t *testing.T, want ids.Actor) {
	t.Helper()
	select {
	case got := <-h.arrived:
		if got != want {
			t.Fatalf("the head is to register actor %s, want %s", got, want)
		}
	case <-time.After(testLimit):
		t.Fatal("the head is not asked to register an actor")
	}
}

// answers lets one registration end.
func (h *slowHead) answers(t *testing.T, err error) {
	t.Helper()
	select {
	case h.proceed <- err:
	case <-time.After(testLimit):
		t.Fatal("no registration is under way")
	}
}

// driverOf returns a connected driver of the job.
func driverOf(t *testing.T, d *Daemon, j *job) *client {
	t.Helper()
	c := connected(t, wire.RoleDriver)
	c.id, c.self, c.job, c.proc = 100, ids.NewWorkerOn(1), j, &workers.Process{}
	d.mu.Lock()
	defer d.mu.Unlock()
	j.driver = c
	d.clients[c.id], d.owners[c.self.Owner()] = c, c
	d.event(func(m *sched.Machine) { m.AddClient(c.id, j.ID) })
	return c
}

// creates has a process ask for the registration of an actor.
func creates(t *testing.T, d *Daemon, c *client, detached bool) ids.Actor {
	t.Helper()
	id, owner := ids.NewActor(c.job.ID), c.self.Owner()
	d.handle(c, received(t, wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: owner[:], ClassName: "A", EnvKey: "env", Detached: detached}))
	return id
}

// idle waits until all requests of a process to the head are served.
func idle(t *testing.T, c *client) {
	t.Helper()
	done := make(chan struct{})
	c.tasks.Add(t.Context(), func(context.Context) { close(done) })
	select {
	case <-done:
	case <-time.After(testLimit):
		t.Fatal("the requests of a process are not served")
	}
}

func TestCreateActor_OwnerDiesBeforeItIsRegistered_ActorEndsWithItsOwner(t *testing.T) {
	for _, detached := range []bool{false, true} {
		d, j := opened(t)
		head := newSlowHead()
		d.SetHead(head)
		driverOf(t, d, j)
		owner := connected(t, wire.RoleSuccessor) // a process that ends while its job goes on
		owner.id, owner.self, owner.job = 101, ids.NewWorkerOn(1), j
		d.mu.Lock()
		d.clients[owner.id], d.owners[owner.self.Owner()] = owner, owner
		d.mu.Unlock()
		id := creates(t, d, owner, detached)
		head.receives(t, id)
		d.connectionClosed(owner)
		head.answers(t, nil)
		idle(t, owner)
		if left, err := head.ActorsOf(t.Context(), record.ActorFilter{}); (len(left) == 1) != detached || err != nil {
			t.Errorf("detached %v: %d actors live after their owner has died, %v", detached, len(left), err)
		}
	}
}

// The requests of a driver that has been killed are still served, so its job may get a
// detached actor after its end. That job goes on, as one whose detached actor was registered
// before.
func TestEndJob_DetachedActorIsBeingRegistered_OnlyTheDriverLeaves(t *testing.T) {
	for _, c := range []struct {
		name   string
		queued bool  // the detached actor's registration waits behind another one
		err    error // of the registration
	}{
		{name: "the head is asked already"},
		{name: "the request waits in the driver's queue", queued: true},
		{name: "the registration fails", err: errors.New("its name is taken")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, j := opened(t)
			head := newSlowHead()
			d.SetHead(head)
			driver := driverOf(t, d, j)
			if c.queued {
				first := creates(t, d, driver, false)
				head.receives(t, first)
			}
			id := creates(t, d, driver, true)
			if !c.queued {
				head.receives(t, id)
			}
			d.connectionClosed(driver)
			if c.queued {
				head.answers(t, nil)
				head.receives(t, id)
			}
			d.mu.Lock()
			if j.ended || !j.left {
				t.Errorf("before the answer: the job has ended %v, its driver has left %v", j.ended, j.left)
			}
			d.mu.Unlock()
			head.answers(t, c.err)
			idle(t, driver)
			var want []string
			if c.err != nil {
				want = []string{string(record.JobLost)}
			}
			if got := head.jobEnds(); !slices.Equal(got, want) {
				t.Errorf("the head was told of the ends %q, want %q", got, want)
			}
			d.lastDetached(j) // as the review that follows the driver's end does
			if got := head.jobEnds(); !slices.Equal(got, want) {
				t.Errorf("the review told the head of the ends %q, want %q", got, want)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if j.ended != (c.err != nil) || j.registering != 0 {
				t.Errorf("the job has ended: %v, and %d registrations are under way", j.ended, j.registering)
			}
		})
	}
}

// A process whose job has ended registers nothing: nobody would end the actor.
func TestCreateActor_JobHasEnded_Refused(t *testing.T) {
	d, j := opened(t)
	d.SetHead(newSlowHead())
	c := driverOf(t, d, j)
	if _, err := d.jobOfCreator(c, &wire.ActorCreate{Detached: true}); err != nil || !j.detached {
		t.Errorf("while the job runs: %v, detached %v", err, j.detached)
	}
	j.ended = true
	if _, err := d.jobOfCreator(c, &wire.ActorCreate{ClassName: "Late", Detached: true}); !errors.Is(err, record.ErrJobEnded) {
		t.Errorf("got %v", err)
	}
	c.job = nil
	if _, err := d.jobOfCreator(c, &wire.ActorCreate{}); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("without a job: got %v", err)
	}
	d.beginRegistration(c)() // and nothing is counted for it
}

// The end of a job that waits for a registration is told, also when no process of it is left
// that could report anything.
func TestEndJob_LastRegistrationOfADriverThatLeft_EndsTheJob(t *testing.T) {
	d, j := opened(t)
	head := newSlowHead()
	d.SetHead(head)
	driver := driverOf(t, d, j)
	first, second := d.beginRegistration(driver), d.beginRegistration(driver)
	d.connectionClosed(driver)
	first()
	if got := head.jobEnds(); len(got) != 0 {
		t.Errorf("the job ends while a registration is under way: %q", got)
	}
	second()
	await.Within(t, testLimit, "the head hears of the job's end", func() bool { return len(head.jobEnds()) == 1 })
}

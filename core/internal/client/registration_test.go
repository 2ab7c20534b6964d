package client

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lateOwner is a process that takes connections, and answers when it is told to.
func lateOwner(t *testing.T, d *fakeDaemon) (id ids.Object, addr string, answer func()) {
	t.Helper()
	owner, addr, path := d.stranger()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan *wire.Message, 10)
	go func() {
		n, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := wire.ReadHello(n.(*net.UnixConn)); err != nil {
			t.Error(err)
			return
		}
		p := wire.NewPeer(n, func(m *wire.Message) { asked <- m }, nil)
		p.Start()
		<-p.Done()
	}()
	t.Cleanup(func() { l.Close() })
	return ids.NewObject(1, owner, ids.JobOf(1), 0), addr, func() {
		for {
			m := <-asked
			_ = m.Reply(nil)
			if m.Type == wire.TRefBorrow {
				return
			}
		}
	}
}

func TestSettle_OwnerIsLate_AnswersComeAndArgumentsStay(t *testing.T) {
	d := startDaemon(t)
	id, addr, answer := lateOwner(t, d)
	w := d.worker(func(c *Client, it *Item) {
		if it.Tmpl.Name == "keeps" {
			if err := c.Import(id, addr, 0); err != nil {
				t.Error(err)
			}
		}
		echo(c, it)
	})
	c := d.driver()
	arg, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	took := func(name string) time.Duration {
		began := time.Now()
		out, _, err := c.Submit(&Call{Template: template(t, c, name), Deps: []ids.Object{arg}})
		if err != nil {
			t.Fatal(err)
		}
		if f, err := c.Get(out, 60*time.Second); err != nil || f == nil {
			t.Fatalf("no answer of %s: %v", name, err)
		}
		c.Release(Drop{Object: out})
		return time.Since(began)
	}
	took("keeps")
	var all []time.Duration
	for range 21 { // that owner keeps nobody waiting now
		all = append(all, took("passes"))
	}
	// Not each of them: the machine may be slow now and then.
	if slices.Sort(all); all[10] >= refs.RetainMost {
		t.Fatalf("answers took %s", all)
	}
	c.Release(Drop{Object: arg})
	if owned, _ := c.Holds(); owned != 1 {
		t.Fatalf("the caller has %d objects, want the argument", owned)
	}
	answer()
	d.eventually("the argument goes", func() bool {
		owned, _ := c.Holds()
		return owned == 0
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.table.OwnerLate() {
		t.Error("the worker takes the owner for late though it has answered")
	}
}

func TestSettle_OwnerIsLate_ConstructorEndsAndItsArgumentsStay(t *testing.T) {
	d := startDaemon(t)
	id, addr, answer := lateOwner(t, d)
	a := d.act(0, func(_ uint64, c *Client, it *Item) { echo(c, it) })
	a.construct = func(c *Client) {
		if err := c.Import(id, addr, 0); err != nil {
			t.Error(err)
		}
	}
	c := d.driver()
	arg, err := c.Put(&Value{Fmt: FmtNone})
	if err != nil {
		t.Fatal(err)
	}
	actor, _, err := c.NewActor(&ActorSpec{}, &Value{Fmt: FmtNone}, []ids.Object{arg})
	if err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{Object: arg})
	out := callActor(t, c, actor, method(t, c, 0), "called")
	if text, code := outcome(t, c, out); text != "called" || code != "" {
		t.Fatalf("the call of an actor whose constructor has ended: %q, %q", text, code)
	}
	d.mu.Lock()
	unsettled := a.unsettled
	d.mu.Unlock()
	if !unsettled {
		t.Error("the constructor's end does not say that a reference is not registered")
	}
	held := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.table.Find(arg) != nil
	}
	if !held() {
		t.Fatal("the constructor's argument is gone before its reference is registered")
	}
	answer()
	d.eventually("the argument goes", func() bool { return !held() })
}

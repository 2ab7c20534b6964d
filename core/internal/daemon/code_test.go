package daemon

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// codeHead is a head that is told of classes.
type codeHead struct {
	Head
	dropped chan ids.Actor
	put     func()
}

func (h codeHead) PutCode(context.Context, ids.Node, ids.Actor, ids.Object, uint64, uint64, []byte) (uint64, error) {
	h.put()
	return 4, nil
}
func (h codeHead) DropCode(id ids.Actor) { h.dropped <- id }
func (h codeHead) OwnerDied(ids.Owner)   {}

// A process that ends between bringing a class and registering the actor leaves
// nothing behind, also when it ends while the class is being brought.
func TestCode_CreatorEndsBeforeItRegisters_ClassIsDropped(t *testing.T) {
	for _, during := range []bool{false, true} {
		d, j := opened(t)
		head := codeHead{dropped: make(chan ids.Actor, 2), put: func() {}}
		d.SetHead(head)
		c, actor := connected(t, wire.RoleDriver), ids.NewActor(j.ID)
		c.self, c.job, c.proc = ids.NewWorkerOn(1), j, &workers.Process{}
		end := func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.dropClient(c)
		}
		if during {
			head.put = end
			d.head = head
		}
		part := wire.CodePart{ActorID: actor[:], ObjectID: make([]byte, ids.ObjectSize), Size: 9, Data: []byte("data")}
		c.tasks.Add(t.Context(), func(context.Context) {
			if _, err := d.codePart(t.Context(), c, received(t, wire.TCodePart, part)); err != nil {
				t.Error(err)
			}
			if !during {
				end()
			}
		})
		select {
		case id := <-head.dropped:
			if id != actor {
				t.Errorf("the class of %s was dropped", id)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the class stays, ended while the class was brought: %v", during)
		}
		if _, err := d.codePart(t.Context(), c, received(t, wire.TCodePart, part)); fault.CodeOf(err) != fault.Closed {
			t.Errorf("a process that has ended brings a class: %v", err)
		}
	}
}

// A process brings classes for actors of its own job only.
func TestCode_ActorOfAnotherJob_Refused(t *testing.T) {
	d, j := opened(t)
	c, actor := connected(t, wire.RoleDriver), ids.NewActor(ids.JobOf(77))
	c.job = j
	part := wire.CodePart{ActorID: actor[:], ObjectID: make([]byte, ids.ObjectSize), Size: 9}
	if _, err := d.codePart(t.Context(), c, received(t, wire.TCodePart, part)); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("got %v", err)
	}
	part.ObjectID = []byte("short")
	if _, err := d.codePart(t.Context(), c, received(t, wire.TCodePart, part)); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("got %v", err)
	}
}

// received returns a message as it comes off a socket.
func received(t *testing.T, kind wire.Type, body any) *wire.Message {
	t.Helper()
	a, b := net.Pipe()
	got := make(chan *wire.Message, 1)
	from := wire.NewPeer(a, func(*wire.Message) {}, func(error) {})
	to := wire.NewPeer(b, func(m *wire.Message) { got <- m }, func(error) {})
	from.Start()
	to.Start()
	t.Cleanup(func() { from.Close(); to.Close() })
	if err := from.Push(kind, body); err != nil {
		t.Fatal(err)
	}
	return <-got
}

package submit

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// An item of a generator lies in the store when the generator's process hands over, and the items
// that come afterwards do not. When the generator has ended, the first item can still be made again.
func TestRestore_GeneratorWithStoredItems_CanMakeThemAgain(t *testing.T) {
	x := captured(t)
	tm := &Template{Kind: frame.KindTask, Name: "items", FID: []byte("iiiiiiiiiiiiiiii"), Blob: []byte("i"), Returns: 1, MaxRetries: 3, Flow: frame.Flow{Mode: frame.FlowStream}}
	x.addTemplate(tm)
	gen := x.table.New(1, 1)
	x.table.AddBorrower(gen, ids.Owner{9})
	k := &Task{Template: tm, First: gen.ID.Count(), Returns: 1, Seq: 1, stored: true}
	k.Generator = generatorWith("own", k.First, "task", k, "got", 1, "left", true)
	gen.SetSource(k)
	x.table.Reserve(2)
	item := x.table.Place(k.First+1, 2)
	x.table.PutStored(item, 1000, false)
	x.table.AddBorrower(item, ids.Owner{9})
	x.Count(k)
	l := &Lease{ID: 3, Class: tm.Class, Busy: 1, Channel: withPipe(NewChannel(&x.Submitter, "/worker"), new(silentPipe))}
	l.Channel.Lease, x.Leases[3] = l, l
	l.Channel.sent.Add(k.Seq, k)

	next, r := successorOf(t, x.process)
	r.Resume([]uint64{3})
	again := next.Leases[3].Channel.sent.Take(1)
	next.table.Complete(next.table.FindOwned(k.First), refs.Inline, []byte("the end"), 7, false)
	next.endTask(again)
	if o := next.table.Find(item.ID); o == nil || !o.Recomputable() {
		t.Errorf("the item %+v cannot be made again", o)
	}
}

// The large exception of an actor's constructor is kept for whoever calls the actor, also when the
// process that created the actor has handed over.
func TestRestore_DeadActor_ItsExceptionIsKept(t *testing.T) {
	x := captured(t)
	a, token := x.addActor(ids.Actor{7}, "A", 0), x.table.New(0, 0)
	x.table.Reserve(1)
	a.SetToken(token)
	x.table.AddBorrower(token, ids.Owner{9})
	raised := x.table.Place(token.ID.Count()+1, 1)
	x.table.PutStored(raised, 1000, true)
	where := envelope.PointTo(&frame.Pointer{ID: raised.ID, Size: 1000, Owner: x.Addr})
	a.Die(fault.New(fault.ActorDied, "its constructor raised"), where.Envelope(where.Size()))

	next, r := successorOf(t, x.process)
	next.table.Sweep()
	r.Resume(nil)
	b := next.Actors[a.ID]
	_, kept := b.Exception()
	if o := next.table.Find(raised.ID); o == nil || kept != o || o.Pins() != 1 || b.Dead() == nil || b.Dead().Message != "its constructor raised" {
		t.Errorf("the actor %+v has the exception %+v", b, o)
	}
	if len(next.askedOf()) > 0 {
		t.Errorf("the daemon is asked %q about an actor that is dead", next.askedOf())
	}
	unknown := ownedBy(&x.Submitter, 99)
	elsewhere := envelope.PointTo(&frame.Pointer{ID: unknown, Size: 1000, Owner: x.Addr})
	small := envelope.Value{Fmt: uint8(store.FormatError), Meta: []byte("a small exception")}
	for what, env := range map[string][]byte{
		"no envelope":                 nil,
		"an envelope that is cut off": where.Envelope(where.Size())[:5],
		"an exception that is there":  small.Envelope(small.Size()),
		"an object that is not known": elsewhere.Envelope(elsewhere.Size()),
	} {
		s, _ := x.Snapshot()
		s.Actors[0].DeadEnv = env
		objects := x.table.Snapshot(sameTexts{})
		p := newProcess(t)
		if err := p.table.Restore(objects, sameTexts{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Submitter.Restore(s); err == nil {
			t.Errorf("%s is taken for the exception that the snapshot keeps", what)
		}
	}
}

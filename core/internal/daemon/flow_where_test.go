package daemon_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The head is asked where SPREAD runs, although there is room here. It may choose this node.
func TestCluster_HeadChoosesThisNode_LeaseIsGranted(t *testing.T) {
	c := new(playedCluster)
	s := play.StartWith(t, 2, func(o *daemon.Options) { o.Cluster, o.HeadPatience = c, time.Hour })
	s.D.Company(true)
	c.free(t, 2)
	d := s.Driver(nil)
	d.Push(wire.TClassDefine, wire.ClassDefine{ClassID: 1, Resources: play.Units(map[string]float64{"CPU": 1}), EnvKey: "default", Name: "f", Strategy: "SPREAD"})
	d.Want(1, 2)
	c.expect(t, "class 1: 2 after 0")
	if w := c.asked(); w.Strategy.Kind != strategy.Spread || !w.Home {
		t.Errorf("the head hears %+v", w)
	}
	s.D.LeaseOffered(place.Offer{To: c.wanted(), Node: play.Number, N: 1, Ticket: 80})
	c.expect(t, "ticket 80: 1")
	var g wire.LeaseGrant
	d.Expect(wire.TLeaseGrant, &g)
	if g.ClassID != 1 {
		t.Errorf("got %+v", g)
	}
	c.free(t, 1)
	s.D.LeaseOffered(place.Offer{To: c.wanted(), Node: 9, N: 1, Ticket: 81})
	var o wire.LeaseOffer
	d.Expect(wire.TLeaseOffer, &o)
	c.expect(t, "class 1: 0 after 2")
}

// noObjects is a network on which nothing is asked.
type noObjects struct{ pulls.Network }

// A want names large arguments of its oldest task. The head hears which nodes have them.
func TestCluster_LargeArguments_HeadHearsWhereTheyAre(t *testing.T) {
	c := new(playedCluster)
	s := play.StartWith(t, 2, func(o *daemon.Options) { o.Cluster, o.HeadPatience, o.Objects = c, time.Hour, noObjects{} })
	s.D.Company(true)
	c.free(t, 2)
	d := s.Driver(nil)
	here := d.Put(200_000)
	there := ids.NewObject(1, ids.NewWorkerOn(9).Owner(), ids.JobOf(1), 1)
	d.Class(1, map[string]float64{"CPU": 1}, "default")
	d.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: 1, Large: [][]byte{there[:], {1, 2, 3}, here[:]}, Sizes: []uint64{300_000, 1, 200_000}, Homes: []uint32{5}})
	c.expect(t, "class 1: 1 after 0")
	if w := c.asked(); !slices.Equal(w.Near, []place.Node{5, play.Number}) {
		t.Errorf("the head hears %+v", w)
	}
}

// An actor's record has its strategy. A strategy that nobody knows is refused.
func TestFlow_Actor_Strategy_IsInItsRecord(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	for given, kept := range map[string]string{"": "", "DEFAULT": "", "SPREAD": "SPREAD"} {
		id := d.Made("", func(q *wire.ActorCreate) { q.Strategy = given })
		if rec, err := s.Record(id); err != nil || rec.Strategy != kept {
			t.Errorf("%q is kept as %q, %v", given, rec.Strategy, err)
		}
	}
	_, _, err := d.Actor("", func(q *wire.ActorCreate) { q.Strategy = "PACK" })
	if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.BadRequest {
		t.Errorf("got %v", err)
	}
}

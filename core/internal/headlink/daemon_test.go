package headlink_test

import (
	"net"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A real daemon whose head is behind a connection that is cut between any two steps of an actor's life works as with
// its head in the same process.
func TestDaemon_ConnectionToHeadIsCut_ActorsLiveAndDie(t *testing.T) {
	client := headlink.NewClient(headlink.ClientOptions{Number: nodeNumber, ID: nodeID, Node: newPlayedNode(), Log: quiet()})
	server := headlink.NewServer(quiet())
	var there net.Conn
	connect := func() {
		var here net.Conn
		here, there = net.Pipe()
		join(client, server, here, there)
	}
	s := play.StartBehind(t, 2, func(real daemon.Head) daemon.Head {
		server.Serve(real.(headlink.Head))
		connect()
		return client
	})
	defer server.Close()
	defer client.Close()
	again := func() {
		there.Close()
		connect()
	}
	d := s.Driver(nil)
	for range 3 {
		again()
		id := d.Made("", nil)
		again()
		st := d.Resolve(id, 0)
		if st.State != wire.ActorAlive || st.Incarnation != 1 {
			t.Fatalf("got %+v", st)
		}
		there.Close()
		d.Push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
		connect()
		if st := d.Resolve(id, 1); st.State != wire.ActorDead {
			t.Errorf("got %+v", st)
		}
	}
	var unknown ids.Actor
	unknown[0] = 99
	done := make(chan error, 1)
	d.Peer.Go(wire.TActorResolve, wire.ActorResolve{ActorID: unknown[:]}, func(_ *wire.Message, err error) { done <- err })
	again()
	if err := <-done; err == nil {
		t.Error("an unknown actor has an address")
	}
	until(t, "nothing is left", func() bool { return client.Asked() == 0 && client.Unreported() == 0 && server.Served() == 0 })
}

package client

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// actor is one actor that this process calls or holds a handle of. Handles are
// counted like references to an object: the process that creates the actor owns
// its token, each process that has a handle references or borrows the token,
// and when the token dies the actor ends.
type actor struct {
	id       ids.Actor
	name     string
	token    *refs.Object // nil: handles are not counted (detached, or looked up by name)
	inc      uint64       // the incarnation that conn belongs to
	conn     *outConn
	asking   bool            // the daemon is asked where it is, or a socket to it is being opened
	stuck    bool            // its calls cannot be sent,
	since    uint32          // since this look, see waiting.go
	patience time.Duration   // the delay before the daemon is asked again, see unannounced
	queue    fifo            // calls that were not sent, in order
	grouped  bool            // some calls are of a concurrency group
	held     map[string]bool // groups whose calls wait for arguments; nil: not known
	pending  int             // calls without an answer
	limit    int             // the most that pending may be; 0: no limit
	handles  int             // this process's handles, when there is no token
	dead     *fault.Error    // why it is dead for good; nil: it is not
	deadEnv  []byte          // the envelope of its constructor's exception
	raised   *refs.Object    // that exception when it is in the store, pinned
	bad      *fault.Error    // why it can not be scheduled as things are
	creation *creation       // until its constructor has ended
	sent     []*task         // the calls that it had when its socket broke, until it is known which had begun

	broken *brokenConn // the socket to inc, which broke; nil when it is known what became of inc
}

// brokenConn is a connection to an actor that broke.
type brokenConn struct {
	num uint32
}

// handlesGone notes that the actor's token died, so nobody can call the actor any more; mu held.
func (c *submitter) handlesGone(a *actor) {
	if a.token.Owned() { // a borrowed token is given back by the table
		c.fx.Push(wire.TActorRelease, wire.ActorRef{ActorID: a.id[:]})
	}
	c.forgetActor(a)
}

// forgetActor ends what this process knows of an actor; mu held.
func (c *submitter) forgetActor(a *actor) {
	delete(c.actors, a.id)
	c.runsNoMore(a)
	c.dropRaised(a)
	if a.conn != nil {
		a.conn.Flush()
		a.conn.Close()
		a.conn = nil
	}
}

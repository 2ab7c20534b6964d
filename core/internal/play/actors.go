package play

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Actor creates an actor whose constructor does what the specification says.
func (d *Driver) Actor(spec string, change func(*wire.ActorCreate)) (ids.Actor, wire.ActorCreated, error) {
	id, owner := ids.NewActor(ids.Job(d.Job.JobID)), d.Owner()
	q := wire.ActorCreate{
		ActorID: id[:], ClassName: "Counter", Namespace: "n", OwnerID: owner[:], OwnerAddr: wire.AddressOf(owner), JobID: d.Job.JobID,
		Resources: Units(OneCPU), EnvKey: "default", MaxConcurrency: 1, Spec: []byte(spec), Meta: []byte("handle"), Token: "token",
	}
	if change != nil {
		change(&q)
	}
	var r wire.ActorCreated
	err := d.Try(wire.TActorCreate, q, &r)
	return id, r, err
}

// Made is Actor where an error fails the test.
func (d *Driver) Made(spec string, change func(*wire.ActorCreate)) ids.Actor {
	d.T.Helper()
	id, _, err := d.Actor(spec, change)
	if err != nil {
		d.T.Fatal(err)
	}
	return id
}

// Resolve waits for an actor's state after an incarnation.
func (d *Driver) Resolve(id ids.Actor, after uint64) (s wire.ActorState) {
	d.T.Helper()
	d.Call(wire.TActorResolve, wire.ActorResolve{ActorID: id[:], After: after}, &s)
	return s
}

// Lost tells that the connection to an actor broke, and returns what became of the actor.
func (d *Driver) Lost(id ids.Actor, incarnation uint64) (f wire.ActorDeath) {
	d.T.Helper()
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: incarnation, Conn: 1}, &f)
	return f
}

// KillActor kills an actor for good.
func (d *Driver) KillActor(id ids.Actor) {
	d.T.Helper()
	d.Call(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, nil)
}

// At is the process in which an actor lives.
func (d *Driver) At(s wire.ActorState) *Held {
	return &Held{D: d, LeaseGrant: wire.LeaseGrant{Addr: s.Addr, Pid: s.Pid}}
}

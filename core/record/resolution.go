package record

import "fmt"

// Resolution is what became of an actor, for somebody who waited for one of its incarnations
// to begin or to end.
type Resolution struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	State   ActorState `msgpack:"state"` // ActorAlive, ActorDead, ActorUnschedulable or ActorRestarting
	Actor   Actor      `msgpack:"actor"` // without Spec and Meta
	Message string     `msgpack:"msg"`   // why it is dead, restarts or is unschedulable, in words
}

// String is short, for logs and traces.
func (r Resolution) String() string {
	switch r.State {
	case ActorRestarting:
		return fmt.Sprintf("RESTARTING incarnation %d after %s", r.Actor.Incarnation, r.Message)
	case ActorAlive:
		return fmt.Sprintf("ALIVE incarnation %d at %s", r.Actor.Incarnation, r.Actor.Address)
	}
	return string(r.State) + " " + r.Message
}

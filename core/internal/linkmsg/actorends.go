package linkmsg

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// TActorEnd is what a daemon asks the node on which an actor's incarnation runs or has run (package actorends). Its number is never reused.
const TActorEnd wire.Type = 237 // call: ActorEndAsk → ActorEnd

// ActorEndAsk asks about an incarnation, for a process that has called it through a connection with that number.
type ActorEndAsk struct {
	Actor       ids.Actor `msgpack:"actor"`
	Incarnation uint64    `msgpack:"inc"`
	Caller      ids.Owner `msgpack:"caller"`
	Conn        uint32    `msgpack:"conn"`
	Wait        bool      `msgpack:"wait"` // the cluster knows that it has ended: the answer is to come when its process is gone
}

// ActorEnd answers an ActorEndAsk.
type ActorEnd struct {
	Alive   bool   `msgpack:"alive"` // it takes calls
	Pid     int    `msgpack:"pid"`
	Known   bool   `msgpack:"known"`   // Started is known
	Started uint32 `msgpack:"started"` // the number of the latest call of that connection that had begun
	Detail  string `msgpack:"detail"`  // how its process ended
}

// DecodeActorEnd reads an ActorEnd.
func DecodeActorEnd(b []byte) (*ActorEnd, error) {
	e := new(ActorEnd)
	if err := Decode("how an actor's incarnation has ended", b, 2*maxMessage, e); err != nil {
		return nil, err
	}
	return e, nil
}

// Fit cuts the text so that the answer can be sent.
func (e *ActorEnd) Fit() { e.Detail = short(e.Detail) }

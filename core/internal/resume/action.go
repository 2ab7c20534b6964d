package resume

import "fmt"

// ConnID numbers the connections of one session at one end, from 1.
type ConnID uint32

// StreamID names a stream at both ends. Control is the stream of control messages. The node with the
// lower number opens odd streams, the other node even ones.
type StreamID uint64

// Control is the stream that is there from the beginning, and as long as the session.
const Control StreamID = 0

// Reason says why a stream ended, or a session. A newer peer may send reasons that have no name here.
type Reason byte

const (
	Closed        Reason = iota + 1 // its user closed it
	ProcessDied                     // the process at that end died
	Refused                         // there is no such target
	NodeDead                        // the peer's node is dead
	NoPath                          // nothing came through for Options.Patience
	PeerRestarted                   // the peer has another boot number: it knows nothing of this session
	Broken                          // the peer broke the rules of the session
)

func (r Reason) String() string {
	names := [...]string{"open", "closed", "process died", "refused", "node dead", "no path", "peer restarted", "broken"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("reason %d", byte(r))
}

// ActionKind says what an Action asks for.
type ActionKind byte

const (
	Dial     ActionKind = iota + 1 // connect to the peer as Conn, directly or if Relay is set also through the third node, then call Hello; Detached if that fails
	Drop                           // close Conn; the session knows it no longer
	Opened                         // the peer has opened Stream to the target Bytes
	Data                           // Bytes of Stream came, in order
	Writable                       // Write takes bytes of Stream again, after it took fewer than it was given
	Ended                          // Stream is over: the peer's end says Why. After this, nothing comes of it
	Lost                           // the session is over; all its streams have ended
)

// Action is something that the session's user must do, in the order given. Bytes lie in what
// was given to Received, and are valid as long as that is.
type Action struct {
	Kind   ActionKind
	Conn   ConnID
	Stream StreamID
	Bytes  []byte
	Why    Reason
	Relay  bool
}

func (a Action) String() string {
	switch a.Kind {
	case Dial:
		if a.Relay {
			return fmt.Sprintf("dial %d, also through the relay", a.Conn)
		}
		return fmt.Sprintf("dial %d", a.Conn)
	case Drop:
		return fmt.Sprintf("drop %d", a.Conn)
	case Opened:
		return fmt.Sprintf("opened %d to %q", a.Stream, a.Bytes)
	case Data:
		return fmt.Sprintf("data %d: %d bytes", a.Stream, len(a.Bytes))
	case Writable:
		return fmt.Sprintf("writable %d", a.Stream)
	case Ended:
		return fmt.Sprintf("ended %d: %s", a.Stream, a.Why)
	case Lost:
		return fmt.Sprintf("lost: %s", a.Why)
	}
	return fmt.Sprintf("action %d", a.Kind)
}

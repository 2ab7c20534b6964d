package resume

import (
	"errors"
	"fmt"
	"time"
)

// What the methods of a Session refuse.
var (
	// ErrFrame: the bytes are no frame that may stand here. The connection is dropped, and the session goes on over another one.
	ErrFrame = errors.New("not a frame of a session")
	// ErrHello: the peer is another node than the session's, or speaks another version.
	ErrHello = errors.New("the peer's hello does not fit")
	// ErrStale: the peer spoke before something that this end knows already, or to a session that is over. It hears the answer and dials again.
	ErrStale = errors.New("the connection belongs to the past of the session")
	// ErrSurplus: both ends dialed, and another connection stays.
	ErrSurplus = errors.New("another connection of the session stays")
	// ErrConn: the session has no such connection, or no longer.
	ErrConn = errors.New("the connection is not the session's")
	// ErrBroken: the peer broke the rules of the session, which is lost. To resend cannot mend that.
	ErrBroken = errors.New("the peer broke the rules of the session")
	// ErrLost: the session is over.
	ErrLost = errors.New("the session is over")
	// ErrStreams: this end has opened as many streams as a session may have.
	ErrStreams = errors.New("too many streams")
	// ErrTarget: the target of a new stream is too long.
	ErrTarget = errors.New("the target of the stream is too long")
)

// Options of a session. Zero values mean the defaults.
type Options struct {
	Self, Peer uint32        // node numbers; they differ
	Boot       uint64        // names this session among all that this node ever has with the peer; not 0
	Window     int           // bytes of a stream that may be under way and unread; both ends have the same; 256 KiB
	MaxUnsent  int           // bytes of all streams that wait to be sent or acknowledged; at least four windows; 16 MiB
	MaxStreams int           // streams that each end may have opened; 65,536
	Patience   time.Duration // the session is lost when nothing came through for so long; 60 s
	Keep       bool          // dial again whenever there is no connection, even when nothing is to be sent
	Relay      bool          // a third node can carry connections with the peer when there is no direct one
}

// Defaults of Options.
const (
	DefaultWindow     = 256 << 10
	DefaultMaxUnsent  = 16 << 20
	DefaultMaxStreams = 1 << 16
	DefaultPatience   = 60 * time.Second
)

// leastUnsent: the control stream has a window of its own below MaxUnsent, and there is room for the session's own frames.
const leastUnsent = 4

func (o *Options) complete() error {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.MaxUnsent == 0 {
		o.MaxUnsent = DefaultMaxUnsent
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = DefaultMaxStreams
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	switch {
	case o.Self == o.Peer:
		return fmt.Errorf("session of node %d with itself", o.Self)
	case o.Boot == 0:
		return fmt.Errorf("session of node %d with node %d has boot number 0: draw one", o.Self, o.Peer)
	case o.Window < 2*headerSize || o.Window > 1<<30:
		return fmt.Errorf("window of %d bytes: it must be from %d bytes to 1 GiB", o.Window, 2*headerSize)
	case o.MaxUnsent < leastUnsent*o.Window || o.MaxUnsent < 2*MaxTarget:
		return fmt.Errorf("at most %d bytes unsent with a window of %d: at least %d windows and %d bytes are needed", o.MaxUnsent, o.Window, leastUnsent, 2*MaxTarget)
	case o.MaxStreams < 0 || o.Patience < 0:
		return fmt.Errorf("%d streams, patience of %v: both must be positive", o.MaxStreams, o.Patience)
	}
	return nil
}

// Session is one end of a session. doc.go says what it does.
type Session struct {
	o             Options
	peerBoot      uint64 // 0: the session was never attached
	met, replaces uint64 // the boot numbers in the peer's last answer that was about another session of this node: its own, and the one of the session that it was bound to
	lost          Reason // 0: it is not
	now           time.Duration
	actions       []Action
	taken         []Action // what the last call of Actions returned

	// Frames to the peer: the log has those from acked+1 to made, as they are on a connection.
	log         byteQueue
	acked, made uint64
	received    uint64 // the last frame of the peer

	conn     *conn  // the one that is attached, or nil
	slot     conn   // what conn points to
	lastConn ConnID // the last one that got a number
	seen     uint32 // the highest Dial of the peer that was accepted
	dials    dials
	direct   direct
	ack      ack
	clock    clock

	control *stream
	streams map[StreamID]*stream
	lastOwn StreamID // the last stream that this end opened
	lastIts StreamID // the last stream that the peer opened
	own     int      // streams of this end that are not over
	its     int      // streams of the peer that are not over
	ready   list     // streams that have something to send, but for control
	turn    turn
	starved list // streams whose last Write found no room because of MaxUnsent
	queued  int  // bytes in the queues of all streams, and their targets
	pool    pool
}

// conn is the attached connection.
type conn struct {
	id       ConnID
	dialed   bool   // by this end
	relayed  bool   // a third node carries it
	peerSeen uint32 // Hello.Seen of the peer
	at       int    // in the log: what is to be written next
	heard    bool   // a frame has come
	since    time.Duration
}

// dials is what the session knows of its attempts to connect.
type dials struct {
	under ConnID // the one that is under way; 0: none
	seen  uint32 // s.seen when it was ordered
	have  uint64 // s.received when its hello was made
	boot  uint64 // s.peerBoot when its hello was made
	over  ConnID // the relayed connection that was attached when it was ordered, and that it replaces; 0: none was attached
	until time.Duration
	tries int           // that failed in a row
	next  time.Duration // not before this
}

// ack is what this end has to acknowledge.
type ack struct {
	told  uint64 // the last frame that the attached connection's hello or frames have acknowledged
	bytes int    // that came since
	at    time.Duration
}

// clock has the session's times, apart from those of connections and acknowledgements.
type clock struct {
	stuck   bool          // something must get through, and did not
	from    time.Duration // since then
	silence time.Duration // when the peer was last heard, or frames began to wait for an acknowledgement
	trim    time.Duration // when the free blocks are given back; 0: not
}

// stream is one end of a stream.
type stream struct {
	id       StreamID
	next     [2]*stream // in the lists ready and starved
	in       [2]bool
	target   []byte // is sent with the first frame
	out      byteQueue
	written  uint64 // bytes that Write took
	credit   int    // bytes that Write may still take
	allowed  int    // bytes that the peer may still send
	unread   int    // bytes that came and are not consumed
	consumed int    // bytes that are consumed, and of which the peer was not told
	ended    Reason // of this end; 0: it is open
	toOpen   bool
	hungry   bool // the last Write took less than it was given
	gone     bool // the peer's end has ended
	sentEnd  bool // the frame with the end of this end is in the log
}

// New returns a session that has no connection yet.
func New(o Options) (*Session, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("new session: %w", err)
	}
	s := &Session{o: o, streams: map[StreamID]*stream{}, starved: list{which: 1}}
	s.control = s.newStream(Control)
	return s, nil
}

func (s *Session) newStream(id StreamID) *stream {
	return &stream{id: id, credit: s.o.Window, allowed: s.o.Window}
}

// Actions returns what is to be done since the last call. The slice is valid until the next call.
func (s *Session) Actions() []Action {
	list := s.actions
	s.actions, s.taken = s.taken[:0], list
	return list
}

func (s *Session) act(a Action) { s.actions = append(s.actions, a) }

// Lost returns why the session is over, 0 while it is not.
func (s *Session) Lost() Reason { return s.lost }

// Package resume carries streams between two nodes over connections that break. A session is one
// pair of nodes; each end has a Session. The connections come and go. What one end has written arrives at the other one
// once and in order, over however many connections that takes. So the end of a connection says nothing about the
// processes behind it: a stream ends when its user ends it, or when the whole session is lost.
//
// # A pure machine
//
// Events are methods: a connection was accepted or ended, a frame came, the program wrote. What is to be done
// follows in Actions: dial, pass bytes on, end a stream. Next gives the bytes for the connection. The package has no socket,
// goroutine, lock, clock or random number. core/internal/link is to call it under a lock of its own. Its user calls Advance
// before the events of a moment, and again at NextTime. After each event it carries out Actions, and
// writes what Next returns if Pending says that there may be something.
//
// # Frames
//
// A frame opens a stream, carries bytes of it, grants the peer more bytes, or ends the stream. These frames have numbers, from 1
// on. The log keeps their bytes until the peer has acknowledged them. A hello at the beginning of a
// connection says which frame of the peer was the last to come; the peer goes on with the next one. A frame that
// comes a second time is dropped. An acknowledgement has no number of its own. It goes along with other frames, or alone
// after 20 ms.
//
// # Streams
//
// Each end opens streams, with a target that only their users understand. A stream has a window in each direction: so many bytes
// may be under way or unread. Consumed makes room, and a slow reader stops its own stream only. Streams
// with something to send take turns of up to 16 KiB.
//
// The stream Control is there from the beginning. Its bytes go first: what is written to Control arrives before
// everything that is written to any stream later. A stream still gets its turn, however much is written to Control:
// only what was on Control at the beginning of the turn precedes it. Bytes of Control may overtake those of streams.
//
// A stream ends exactly once at each end: by End, or by the action Ended. What was written before End arrives before Ended.
// An end that hears Ended answers by itself, and what it had still to send is thrown away. The stream's
// number is never used again.
//
// # Connections
//
// At most one connection is attached. The session asks for one (Dial) while it has streams or bytes to send. When both ends
// dial at once, the connection stays that the node with the lower number dialed. A new connection replaces the attached one if the node
// that dialed it had lost the attached one, or had dialed that one, too. Hello.Dial and Hello.Seen tell these cases apart.
//
// With Options.Relay a third node, the relay, can carry connections. It is asked for when there has been no direct connection for 5 s,
// which includes the time in which the last one was silent. While a relayed connection is attached, each end that has streams or bytes to
// send dials directly every 2 s, and a direct connection then replaces the relayed one. The frames that are under way at that moment go again over
// the new connection, like after any other end of one. When direct connections fall silent again and again, the pause grows to 32 s.
//
// A connection is dropped when frames wait for an acknowledgement and nothing is heard for 5 s. Pauses
// between attempts grow up to 2 s, and up to 0.5 s with a peer to which there must always be a connection (Options.Keep): a head that was started again may lead
// soon, and then all nodes need it at once.
//
// # The end of a session
//
// Each Session has a boot number, which its hello says. The first connection binds it to the peer's boot number. A hello with
// another one means that the peer has begun anew and knows nothing of this session, which is then lost. But such a hello may be
// older than the one that bound the session. So the peer only gets an answer first, with the two boot numbers of the session, and repeats its
// hello with them. A process that had died before the session was bound cannot know both.
// A session is also lost when its user knows that the peer's node is dead (PeerDead) or has another reason (GiveUp), when nothing came through
// for Options.Patience while something had to, and when the peer breaks the rules. All streams end, then Lost follows.
//
// # Memory
//
// What waits to be sent or acknowledged is at most Options.MaxUnsent, and what the session adds itself: the headers of frames, and the targets of
// new streams. It lies in blocks of 1 KiB. A
// session that has sent nothing for a second keeps no block. What has come and is not consumed is kept by the
// user, at most a window for each stream, and each end opens at most Options.MaxStreams.
//
// # Invariants
//
// The simulation (sim_test.go) holds these over random faults:
//
//   - what arrives on a stream is the beginning of what was written, each byte once and in order;
//   - an acknowledged frame is never sent again, and any other one is kept;
//   - bytes never overtake what was written to Control before them;
//   - the unsent bytes and the unread bytes of a stream keep to their bounds;
//   - a stream that has bytes to send waits for at most one turn of each other stream;
//   - each end of a stream ends once, and none outlives its session;
//   - a session is lost for a reason only, and never mixes bytes of two boots;
//   - once the faults end, everything written arrives within 40 s, both ends agree on what is open, and a session without work
//     needs no clock and keeps no memory;
//   - with a relay the same is true while nothing goes directly, and once something does, the session goes that way.
//
// The files: frame.go, hello.go and action.go are what goes in and out. state.go has the types, bytequeue.go and list.go the queues of bytes and of streams.
// streams.go is what programs do. turn.go chooses the next frame, send.go gives frames to the connection, and receive.go takes those of the peer.
// clock.go has the times and the loss of the session, attach.go the connections, and direct.go which way they go.
package resume

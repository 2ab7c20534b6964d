// Package link connects the nodes of a cluster. Two nodes have one session, which goes on when its connection breaks (package
// resume); in it are streams, which are net.Conns, and a control stream with calls and pushes (wire.Peer). Much data goes over
// bulk connections of its own, and two heads replicate the cluster's state over connections of their own (Link.Raft).
//
// # Connections
//
// A connection begins with who is there:
//
//	over TCP             mutual TLS 1.3 (package pki). ALPN tells links from processes that join
//	over TCP without TLS the name of the protocol, and the conversation of package pki in which both ends prove the token
//	over a Unix socket   the name of the protocol and the identity; the kernel says that the same user, or root, is there
//
// Both ends compare cluster, generation and number of the other one with what they must be. Then the end that dialed says in a greeting
// what the connection is for and which node it means. The answer accepts, or refuses with a text. For a session, the greeting and the answer have the
// hellos of package resume in them. All this takes 5 s at most, and pki.Gate bounds how many strangers may be at it; a member that must not connect is one of
// them until it has been told why. An address
// that begins with "/" is a Unix socket.
//
// # Sessions
//
// A session is made when one of its ends first needs it. It dials while it has something to send, with pauses that grow up to 2 s, and
// for ever if Config.Keep says so. It is lost when the node is dead (Links.Dead), when the peer's process is another one, when
// nothing came through for 60 s, and when the control stream carries something that is no message. Then all its streams end,
// its bulk connections are closed, and Config.Down is called. The next use makes a new session. A
// connection that breaks ends nothing: an end of a stream, io.EOF included, means that somebody ended it or that the session is lost.
//
// With Config.Relay a third node, a head, can carry connections. After 5 s without a direct connection the session dials through it and
// directly, and takes the connection that is there first. While the head carries the session, both ends go on dialing directly, and move the
// session when that succeeds (package resume). Over a relayed connection the ends meet as over TCP: TLS is between the two, and
// certificates say who is there. Bulk connections are dialed through the head while the session goes that way.
//
// Links.Redial ends all connections that are attached, and none that was being made meanwhile is attached: its other end was checked by keys that may not count
// any more (ErrOutdated).
//
// Links.Close sends nothing. To the other nodes this node then has no path, until its death or a new process is proved.
//
// # Order
//
// What is written to a stream after a control message was flushed (wire.Peer.Flush) is seen by the other end after it has handled that
// message. The same is true of the beginning and the end of a stream. So a handler of control messages must not wait for
// bytes of a stream of the same node, and a slow one delays the streams.
//
// # Memory
//
// A stream keeps at most a window (256 KiB) of bytes that nobody has read, and a session at most MaxUnsent (16 MiB) that the
// peer has not acknowledged. Each end opens at most MaxStreams (65,536 unless Config.Session says otherwise). An idle stream keeps 2 KiB once it was read from, and an idle connection 2 KiB,
// besides what TLS keeps.
//
// # Goroutines and locks
//
// A connection has a reader and a writer. The writer takes up to 64 KiB of frames at a time, or what is there, so many small
// writes become one. If a connection over TCP was idle, the goroutine that gives the session something writes it itself, as far as the kernel takes it at
// once. If a stream has a function (Stream.PassTo), the reader of the connection passes on to it what comes while a Read waits. The control stream has the two goroutines of its wire.Peer, and each call of Serve and Bulk and each attempt
// to dial has one. Links.Close waits for all of them but those of wire.Peer, which end at once when no handler runs.
//
// The order of the locks is: session, Link, Links. Nothing waits with a lock held, and no function of Config is called so.
//
// The files: config.go is what the user gives. links.go, link.go and session.go are the whole, a node and a session. stream.go, ring.go and order.go are
// the streams, pass.go what the reader passes on, conn.go is a connection of a session, buffers.go what it reads and writes with, bulk.go one for much data. dial.go, relayed.go and accept.go make connections,
// secure.go finds out who is there, and greeting.go has what is said first.
package link

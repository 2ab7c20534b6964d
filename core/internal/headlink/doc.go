// Package headlink has both ends of the conversation between a node's daemon and a head that may be another process:
// Client is the head as the daemon sees it, and Server serves the head to the nodes. They talk over a wire.Peer per
// connection, with the messages of package linkmsg. Who makes the connections is not their business: a pipe, a Unix
// socket, or a link between two machines.
//
// # Requests
//
// A request has a number of the node's own. It waits while there is no connection, and until its context ends. On each new connection
// the client sends all requests again that have no answer, also to a new process of the head. So a
// request may be carried out twice, and each one is harmless then:
//
//	reads             change nothing
//	Resolve, Ended    wait anew
//	CreateActor       the actor is there already, with the same owner: it is done
//	RegisterNode      renews the record
//	DrainNode         the deadline counts from the later time
//	StartJob          the state gives a driver one job
//	PutCode           a part at an offset that is there changes nothing
//	WatchKeys         waits anew, from the same place
//	KeepKeyLease      counts from a later time
//	EndKeyLease       finds it ended
//	KillActor, PutKV, DelKV, WriteKey, GrantKeyLease   carry a record.Request: the state applies them once, and repeats the first answer
//
// When a context ends first, the error says what is known: nothing was changed (fault.HeadUnavailable, or the context's own error for a
// read), or the change may have been made (record.ErrMayHaveBeenApplied).
// The head says the latter of a change that comes again and fails for a reason that the
// state has not given: the heads before it may have made the change.
//
// # Connections
//
// A new connection of a node takes the place of the one before, and closes it. The server may read a hello late, after
// that of the next connection. So the node's process numbers its connections, and the server refuses the older one.
// Between two processes of a node, the order in which the server got the connections decides.
//
// # Reports
//
// Reports are numbered, and stay in the client's outbox until the head has committed them. At most MaxUnderWay are under way. After a
// cut the client goes on behind the last report that arrived, so each arrives once and in order. A new process of
// the head gets all that its predecessor had not acknowledged. A report that was committed before the predecessor
// ended comes twice then: reports name the incarnation that they are about, or say what can be said twice.
//
// # Orders and news
//
// Orders of the head (place an actor, stop it) go the other way by the same rules. News are the records of nodes and jobs: all of
// them on a new connection, and then each change. They need no numbers, because the newest record is enough.
//
// # Leases of other nodes
//
// A node says what it has free and for which leases it has no room, and the head offers leases of other nodes. What the head
// decides is package place's business; serverplace.go has its machine, and cluster.go is the node's side. These
// messages need no numbers: on a new connection the node says everything as it is then, and an offer that was
// lost with its connection expires. A process of the head calls no want infeasible before all nodes that are alive by the
// cluster's state have said what they have.
//
// # Actors
//
// The machine of package place also decides which node starts an actor. The server commits that (Head.CommitPlaced) before the node is
// ordered to, so a later process of the head orders the same node again, which starts one worker. A refusal is a report, so it is not lost; it names
// the order, so it cannot be taken for one of a later order. To a new process of the head a node says which incarnations it has (ActorKept):
// the orders to stop some of them may have been lost with the head before.
//
// # Files
//
//	outbox.go         numbered items that are kept until the other side has them; used by both ends
//	client.go         Client: connections, the hello
//	ask.go            requests: sending, answers, sending again
//	reads.go, changes.go, waits.go, reports.go   the methods of a daemon's head
//	keys.go           the key-value store of Go programs, at both ends
//	told.go           what comes from the head: acknowledgements, orders, news
//	cluster.go        what the node has free and has no room for, and what it is offered
//	server.go         Server: nodes and their connections
//	session.go        one connection to a node
//	serve.go          requests at the head
//	serverreports.go  reports at the head
//	placer.go         the machine of package place, and the time
//	serverplace.go    offers of leases at the head
//	serveractors.go   which node starts an actor: committed, then ordered
//	news.go           records of nodes and jobs for all nodes
//
// # Goroutines and locks
//
// A Client and a Server have one goroutine for each connection, which waits for its end. A Server has one for each
// request that is being served, and one for each node with reports that are not committed. Each has a timer besides: a Client holds
// back what is free for some milliseconds, and a Server tells package place the time. Neither calls anybody while
// it holds its lock, except for a wire.Peer, which never waits.
//
// # Trust
//
// A node is trusted like the head itself: it may report on any actor. What comes from it is capped and checked, so that
// a faulty node cannot make the head crash or use memory without bounds.
package headlink

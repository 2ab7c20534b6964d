package refs

import "slices"

// The task sockets between the members. They carry calls and answers, in an order that has
// nothing to do with that of the other messages, and they may break while both processes live.

// playedSocket is a task socket from a caller to a worker.
type playedSocket struct {
	TaskSocket
	caller, worker *member
	open           bool // the caller reads answers from it
	serves         bool // the worker has not noticed its end
	broken         bool // nothing that is written to it arrives
	waits          []*execution
}

// stream is one direction of a connection between two members. On is nil for the control connection.
type stream struct {
	from, to *member
	on       *playedSocket
}

// socketTo returns the open task socket to a worker, or a new one.
func (m *member) socketTo(w *member) *playedSocket {
	for _, k := range m.s.sockets {
		if k.caller == m && k.worker == w && k.open && !k.broken {
			return k
		}
	}
	m.lastSocket++
	k := &playedSocket{TaskSocket: TaskSocket{Caller: m.owner, Addr: m.name, Number: m.lastSocket}, caller: m, worker: w, open: true, serves: true}
	m.s.sockets = append(m.s.sockets, k)
	return k
}

// reads reports whether the member reads answers from a task socket.
func (m *member) reads(s TaskSocket) bool {
	return slices.ContainsFunc(m.s.sockets, func(k *playedSocket) bool { return k.TaskSocket == s && k.open })
}

// sends writes to a task socket.
func (k *playedSocket) sends(from, to *member, f func()) {
	if !k.broken && !to.dead {
		k.caller.s.post(stream{from, to, k}, f)
	}
}

// breaks ends a task socket at one of its ends, which reads nothing more. The other end reads what was sent before.
func (s *society) breaks(k *playedSocket, atCaller bool) {
	if k.broken {
		return
	}
	s.note("task socket %d from %s to %s breaks, at the caller: %v", k.Number, k.caller.name, k.worker.name, atCaller)
	down, up := stream{k.caller, k.worker, k}, stream{k.worker, k.caller, k}
	if atCaller {
		delete(s.links, up)
		s.post(down, k.workerLost)
		k.broken = true
		k.callerLost()
	} else {
		delete(s.links, down)
		s.post(up, k.callerLost)
		k.broken = true
		k.workerLost()
	}
}

// workerLost is the end of the socket for the worker.
func (k *playedSocket) workerLost() {
	k.caller.s.note("%s notices the end of task socket %d from %s", k.worker.name, k.Number, k.caller.name)
	k.serves = false
	k.worker.table.CallerLost(k.TaskSocket)
}

// callerLost is the end of the socket for the caller, which sends its calls without an answer to the worker again.
func (k *playedSocket) callerLost() {
	k.caller.s.note("%s notices the end of task socket %d to %s", k.caller.name, k.Number, k.worker.name)
	k.open = false
	for _, x := range k.waits {
		k.caller.sendCall(&execution{caller: x.caller, task: x.task, out: x.out, args: x.args}, k.worker)
	}
	k.waits = nil
}

// breakAny breaks one of the task sockets.
func (s *society) breakAny() {
	if n := len(s.sockets); n > 0 {
		s.breaks(s.sockets[s.r.IntN(n)], s.r.IntN(2) == 0)
	}
	s.sockets = slices.DeleteFunc(s.sockets, func(k *playedSocket) bool { return !k.open && !k.serves })
}

// socketsOf ends the task sockets of a member that dies: what is in them is lost.
func (s *society) socketsOf(m *member) {
	for _, k := range s.sockets {
		if k.caller != m && k.worker != m {
			continue
		}
		delete(s.links, stream{k.caller, k.worker, k})
		delete(s.links, stream{k.worker, k.caller, k})
		k.broken, k.open, k.waits = true, false, nil
		if k.serves && k.worker != m {
			k.workerLost()
		}
		k.serves = false
	}
}

package refs

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestProcesses_RandomPrograms_NothingGoesEarlyAndNothingStays(t *testing.T) {
	for seed := range uint64(150) {
		s := newSociety(t, seed, 2+int(seed%4))
		for range 600 {
			if s.step(); seed%2 == 1 && s.r.IntN(20) == 0 {
				s.members[s.r.IntN(len(s.members))].moves()
			}
			s.check()
		}
		s.ends()
	}
}

// Task sockets break while the processes at both ends live, at any time: before a call is read, while it runs, and with
// answers in them that nobody will read. The calls are sent again, so a task may run several times at one worker.
func TestProcesses_TaskSocketsBreak_NothingGoesEarlyAndNothingStays(t *testing.T) {
	for seed := range uint64(200) {
		s := newSociety(t, seed, 2+int(seed%3))
		for range 600 {
			switch s.step(); s.r.IntN(60) {
			case 0, 1, 2:
				s.breakAny()
			case 3:
				if seed%2 == 1 {
					s.members[s.r.IntN(len(s.members))].moves()
				}
			}
			s.check()
		}
		s.ends()
	}
}

// An answer that its caller never read is let go of once the caller has said so. One that it has read stays until the
// references are registered.
func TestProcesses_TaskSocketBreaksWithAnAnswerInIt_ReferencesGoOnceTheCallerSaysSo(t *testing.T) {
	for _, atCaller := range []bool{false, true} {
		for seed := range uint64(40) {
			s := newSociety(t, seed, 2)
			a, b := s.members[0], s.members[1]
			a.call(b)
			s.rush()
			b.answer(0, b.put())
			b.dropAll()
			if owned, _ := b.table.Len(); owned != 1 || !b.table.Unconfirmed() {
				s.fail("the answer is not held: %d objects", owned)
			}
			s.breaks(s.sockets[0], atCaller)
			s.rush()
			// At the caller's end the answer is lost, and the call is sent again. At the worker's end it is read first.
			if owned, _ := b.table.Len(); atCaller != (owned == 0) || atCaller != (len(b.running) == 1) || b.table.Unconfirmed() {
				s.fail("broken at the caller %v: the worker has %d objects and runs %d calls, unconfirmed %v", atCaller, owned, len(b.running), b.table.Unconfirmed())
			}
			s.ends()
		}
	}
}

// The cases in which an object is held by nobody its owner knows of, unless the
// table sees to it. Messages arrive in many orders, one connection is slow, and each object is held
// by the one process only for which the case is.
func TestProcesses_MessagesInAnyOrder_NewHolderIsKnownBeforeTheOldOneGoes(t *testing.T) {
	for what, play := range map[string]func(s *society, a, b, c *member, x ids.Object){
		"a reference is taken out of a value, which is dropped": func(s *society, a, b, c *member, x ids.Object) {
			outer := b.put(x)
			b.call(a, outer)
			s.rush()
			a.answer(0)
			s.rush()
			b.dropAll()
			c.dropAll()
			s.rush()
			a.open(outer)
			s.rush()
			if !a.open(outer) {
				s.fail("the value has not come")
			}
			a.drop(outer)
		},
		"a reference is inside a result": func(s *society, a, b, c *member, x ids.Object) {
			a.call(b)
			c.dropAll()
			s.rush()
			b.answer(0, x)
			b.dropAll()
		},
		"a reference is inside a result, and the task socket breaks when that was read": func(s *society, a, b, c *member, x ids.Object) {
			a.call(b)
			c.dropAll()
			s.rush()
			k := b.running[0].on
			b.answer(0, x)
			b.dropAll()
			for len(a.calls) > 0 && s.deliver() {
				s.check()
			}
			if out := a.all()[0]; !a.open(out) {
				s.fail("the result has not come")
			} else {
				a.drop(out)
			}
			s.breaks(k, s.r.IntN(2) == 0)
		},
		"an argument is kept by its task": func(s *society, a, b, c *member, x ids.Object) {
			b.call(a, x)
			c.dropAll()
			for len(a.running) == 0 && s.deliver() {
				s.check()
			}
			b.dropAll()
			a.answer(0)
		},
	} {
		for seed := range uint64(40) {
			s := newSociety(t, seed, 3)
			a, b, c := s.members[0], s.members[1], s.members[2]
			x := c.put()
			c.call(b, x)
			s.rush()
			b.answer(0)
			s.rush()
			s.note("%s:", what)
			play(s, a, b, c, x)
			s.rush()
			s.ends()
		}
	}
}

// When a process dies, what it held goes, and nothing stays at the end. An
// object that somebody holds may go before its time then: the owner may not have
// heard of the holder when the last one that it knew died (letGoBy says so). So
// the oracle is asked until the death only.
func TestProcesses_OneDies_NothingStays(t *testing.T) {
	for seed := range uint64(150) {
		s := newSociety(t, seed, 3+int(seed%3))
		death := s.r.IntN(300)
		for i := range 450 {
			if i == death {
				s.members[0].dies()
			}
			if s.step(); i < death {
				s.check()
			}
		}
		s.ends()
	}
}

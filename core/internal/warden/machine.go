package warden

import (
	"fmt"
	"strings"
	"time"
)

// Times of children that are started again.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second // a head that is killed again and again is missed by the others for no longer
	steadyTime   = time.Minute     // a child that was ready for so long has not failed at its start
)

// machine decides what becomes of the children. Its clock begins at zero.
type machine struct {
	readyLimit, grace time.Duration

	now     time.Duration
	kids    []kid
	said    map[string]string // what each child has said behind "ready", the latest one
	all     bool              // all were ready once
	ending  bool
	why     *Failure // why it ends; nil: it was asked to
	actions []action
}

// kid is what the machine knows of a child.
type kid struct {
	name    string
	restart bool
	again   func(status int) bool
	leaves  func(status int) bool
	returns bool // it was ended to be started again, and is not ready yet
	state   state
	until   time.Duration // when something must happen: state says what; 0: nothing
	pid     int
	ready   time.Duration // when it became ready
	once    bool          // it has been ready before
	asked   bool          // it has got SIGTERM
	failed  int           // ends in a row, none of them steady
	reason  string        // why it could not start
	invalid bool          // the reason is what the user asked for
}

type state string

const (
	idle     state = "idle"
	starting state = "starting" // until it must be ready
	up       state = "up"
	pausing  state = "pausing" // until it is started again
	over     state = "over"
)

// action is an order of the machine.
type action struct {
	do  verb
	kid int
}

type verb string

const (
	start   verb = "start"
	term    verb = "term"
	kill    verb = "kill"
	sweep   verb = "sweep"   // kill what a child has left, then tell of its end
	wipe    verb = "wipe"    // kill what a child has left that is started again
	ready   verb = "ready"   // all are
	restart verb = "restart" // tell that it will be
	finish  verb = "finish"
)

// Failure says which child has ended everything.
type Failure struct {
	Child   string
	Pid     int  // 0: there was no process
	Status  int  // exit code, or the negative number of a signal
	Ready   bool // it had been ready
	Reason  string
	Invalid bool // Reason is about what the user has asked for
}

// Error names the child and how it has ended.
func (f *Failure) Error() string {
	if f.Reason != "" {
		return f.Child + ": " + f.Reason
	}
	when := ""
	if !f.Ready {
		when = " before it was ready"
	}
	return fmt.Sprintf("the %s (pid %d) %s%s", f.Child, f.Pid, statusText(f.Status), when)
}

func newMachine(children []Child, readyLimit, grace time.Duration) *machine {
	m := &machine{readyLimit: readyLimit, grace: grace, said: map[string]string{}}
	for _, c := range children {
		m.kids = append(m.kids, kid{name: c.Name, restart: c.Restart, again: c.Again, leaves: c.Leaves, state: idle})
	}
	m.start(0)
	return m
}

// take returns the orders since the last time.
func (m *machine) take() []action {
	a := m.actions
	m.actions = nil
	return a
}

func (m *machine) order(do verb, i int) { m.actions = append(m.actions, action{do, i}) }

func (m *machine) start(i int) {
	k := &m.kids[i]
	k.state, k.until, k.pid, k.reason, k.invalid = starting, m.now+m.readyLimit, 0, "", false
	m.order(start, i)
}

// started: a process runs.
func (m *machine) started(i, pid int) { m.kids[i].pid = pid }

// notStarted: there is no process.
func (m *machine) notStarted(i int, err error) {
	m.kids[i].reason = err.Error()
	m.gone(i, 0)
}

// spoke: a child has said a line; an empty one means that it will say nothing.
func (m *machine) spoke(i int, line string) {
	k := &m.kids[i]
	if k.state != starting || k.reason != "" {
		return
	}
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "ready":
		k.state, k.ready, k.once, k.returns = up, m.now, true, false
		if !k.asked { // else it is to end until then
			k.until = 0
		}
		m.said[k.name] = rest
		m.next()
		return
	case word == "error:" || word == "invalid:":
		k.reason, k.invalid = rest, word == "invalid:"
	case line == "":
		return // it ends, or the limit ends it
	default:
		k.reason = fmt.Sprintf("said %.200q where it should say whether it is ready", line)
	}
	if !k.asked {
		m.order(kill, i)
	}
}

// next starts the child whose turn it is.
func (m *machine) next() {
	if m.ending || m.all {
		return
	}
	for i, k := range m.kids {
		if k.state == idle {
			m.start(i)
			return
		}
		if !k.once {
			return
		}
	}
	m.all = true
	m.order(ready, 0)
}

// gone: a child's process has ended.
func (m *machine) gone(i, status int) {
	k := &m.kids[i]
	if m.ending {
		m.bury(i)
		m.endNext()
		return
	}
	if k.once && k.leaves != nil && k.leaves(status) && m.others(i) {
		m.bury(i)
		return
	}
	k.returns = k.returns || k.once && k.again != nil && k.again(status)
	if k.restart && k.once || k.returns {
		if k.state == up && m.now-k.ready >= steadyTime {
			k.failed = 0
		}
		k.failed++
		k.state, k.until = pausing, m.now+pause(k.failed)
		if k.returns {
			m.order(wipe, i)
		}
		m.order(restart, i)
		return
	}
	failure := &Failure{Child: k.name, Pid: k.pid, Status: status, Ready: k.once, Reason: k.reason, Invalid: k.invalid}
	m.bury(i)
	m.end(failure)
}

// others reports whether there are children besides one that have not ended for good.
func (m *machine) others(i int) bool {
	for j := range m.kids {
		if j != i && m.kids[j].state != over {
			return true
		}
	}
	return false
}

// pause returns the time before a start, after some ends in a row.
func pause(failed int) time.Duration {
	p := firstPause
	for range failed - 1 {
		if p *= 2; p >= longestPause {
			return longestPause
		}
	}
	return p
}

func (m *machine) bury(i int) {
	m.kids[i].state, m.kids[i].until = over, 0
	m.order(sweep, i)
}

// signal: somebody wants everything to end.
func (m *machine) signal() {
	if !m.ending {
		m.end(nil)
		return
	}
	for i, k := range m.kids {
		if k.state != over {
			m.order(kill, i)
		}
	}
}

// end begins the end.
func (m *machine) end(why *Failure) {
	m.ending, m.why = true, why
	for i := range m.kids {
		if k := &m.kids[i]; k.state == idle || k.state == pausing {
			k.state, k.until = over, 0
		}
	}
	m.endNext()
}

// endNext asks the last child that lives to end.
func (m *machine) endNext() {
	for i := len(m.kids) - 1; i >= 0; i-- {
		k := &m.kids[i]
		if k.state == over {
			continue
		}
		if !k.asked {
			k.asked, k.until = true, m.now+m.grace
			m.order(term, i)
		}
		return
	}
	m.order(finish, 0)
}

// advance: so late is it now.
func (m *machine) advance(now time.Duration) {
	m.now = max(m.now, now)
	for i := range m.kids {
		k := &m.kids[i]
		if k.until == 0 || m.now < k.until {
			continue
		}
		k.until = 0
		switch {
		case k.asked:
			m.order(kill, i)
		case k.state == starting:
			k.reason = fmt.Sprintf("was not ready within %v", m.readyLimit)
			m.order(kill, i)
		case k.state == pausing:
			m.start(i)
		}
	}
}

// nextTime returns when advance has something to do.
func (m *machine) nextTime() (at time.Duration, any bool) {
	for _, k := range m.kids {
		if k.until != 0 && (!any || k.until < at) {
			at, any = k.until, true
		}
	}
	return at, any
}

package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/wire"
)

// messenger is the part of a mover that tells processes something and that
// knows the time.
type messenger struct {
	d     *Daemon
	timer *time.Timer
	wake  time.Time // when the timer fires; zero when it does not run
}

func (d *Daemon) newMessenger() *messenger {
	m := &messenger{d: d}
	m.timer = time.AfterFunc(time.Hour, m.tick)
	m.timer.Stop()
	d.tells = m
	return m
}

// stop ends the timer. It may be called without a messenger.
func (m *messenger) stop() {
	if m != nil {
		m.timer.Stop()
	}
}

// answer runs f with the daemon's lock, unless the daemon is closing.
func (m *messenger) answer(f func(t *objects)) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if !m.d.closing {
		f(m.d.objects)
	}
}

func (m *messenger) now() time.Time { return time.Now() }

// later implements mover: the earliest wish counts.
func (m *messenger) later(after time.Duration) {
	at := time.Now().Add(after)
	if m.wake.IsZero() || at.Before(m.wake) {
		m.wake = at
		m.timer.Reset(after)
	}
}

func (m *messenger) tick() {
	m.answer(func(t *objects) {
		m.wake = time.Time{}
		t.tick()
	})
}

// letGo implements mover.
func (m *messenger) letGo(c *client) { _ = c.peer.Push(wire.TObjLetGo, nil) }

// freed implements mover.
func (m *messenger) freed(c *client, o *object) {
	_ = c.peer.Push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{append([]byte(nil), o.id[:]...)}})
}

// told implements mover.
func (m *messenger) told(r *request, text string) {
	m.d.log.Warn(text, "pid", r.client.pid)
	j := r.client.job
	if j == nil {
		return
	}
	lines := []wire.LogLine{{Pid: r.client.pid, Stderr: true, Source: "daemon", Text: text}}
	if j.sink != nil {
		j.sink.add(lines)
	} else if j.driver != nil { // it does not want to see output, but this is not output
		_ = j.driver.peer.Push(wire.TLogs, wire.LogBatch{Lines: lines})
	}
}

// memoryGrace is how long a full store waits for processes to let go of what
// they keep, when nothing can be spilled. Ray waits as long by default.
const memoryGrace = 2 * time.Second

// memoryMover is the mover of a session that spills nothing. Processes still let
// go of what they keep only to be quick the next time, and requests wait for that.
type memoryMover struct{ *messenger }

// keepInMemory wires the object table of a session that spills nothing.
func (d *Daemon) keepInMemory(grace time.Duration) {
	if grace == 0 {
		grace = memoryGrace
	}
	t := d.objects
	t.mover, t.memoryOnly, t.grace = memoryMover{d.newMessenger()}, true, grace
	t.ahead = t.capacity
}

// Nothing of an object table that is memoryOnly is ordered to or from a disk.

func (memoryMover) write(*batch) { panic("daemon: a session that spills nothing has objects written") }
func (memoryMover) restore(*object, place) {
	panic("daemon: a session that spills nothing restores one")
}
func (memoryMover) makeFile(*request) { panic("daemon: a session that spills nothing makes a file") }
func (memoryMover) removeFile(string) { panic("daemon: a session that spills nothing removes a file") }

package daemon

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of what the daemon logs about requests and connections that it refuses. A
// process that has gone wrong may send the same request for ever, or each time
// another one.
const (
	complainAgain  = 10 * time.Minute // so long after a complaint an equal one is logged again
	maxComplaints  = 256              // so many different complaints are logged in that time
	overflowAgain  = time.Minute      // how often the log says how many others there were
	complaintBytes = 512              // so much of a complaint's text is kept and logged
)

// complaints logs what the daemon refuses: each kind of trouble once in a while.
type complaints struct {
	mu   sync.Mutex
	seen map[string]*complaint
	// over counts the complaints that were not logged because there were too many
	// different ones; overflowed is when the log last said so.
	over       int
	overflowed time.Time
}

// complaint is one kind of trouble.
type complaint struct {
	logged time.Time
	again  int // how often it came since
}

func (k *complaints) add(log *slog.Logger, what string, err error) {
	text := err.Error()
	if len(text) > complaintBytes {
		text = strings.ToValidUTF8(text[:complaintBytes], "") + "…"
	}
	switch told, n := k.note(what+": "+text, time.Now()); told {
	case complainNew:
		log.Warn(what, "error", text, "repeated", n, "note", "an equal message is logged again after "+complainAgain.String())
	case complainOverflow:
		log.Warn("more is refused than the log tells", "not_logged", n, "latest", what+": "+text)
	}
}

// What note says is to be logged of a complaint.
type complainHow int

const (
	complainNot complainHow = iota
	complainNew
	complainOverflow
)

// note remembers a complaint and says what is to be logged of it: the complaint, how
// many there were that the log does not show, or nothing. N is how often it was
// repeated, or how many others there were.
func (k *complaints) note(text string, now time.Time) (how complainHow, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.seen[text]
	switch {
	case c != nil && now.Sub(c.logged) < complainAgain:
		c.again++
		return complainNot, 0
	case c == nil && !k.makeRoom(now):
		if k.over++; now.Sub(k.overflowed) < overflowAgain {
			return complainNot, 0
		}
		n, k.over, k.overflowed = k.over, 0, now
		return complainOverflow, n
	case c == nil:
		if k.seen == nil {
			k.seen = make(map[string]*complaint)
		}
		c = &complaint{}
		k.seen[text] = c
	}
	n = c.again
	c.logged, c.again = now, 0
	return complainNew, n
}

// makeRoom forgets complaints that are old when there are too many, and reports
// whether there is room for another one; mu held.
func (k *complaints) makeRoom(now time.Time) bool {
	if len(k.seen) < maxComplaints {
		return true
	}
	for text, c := range k.seen {
		if now.Sub(c.logged) >= complainAgain {
			delete(k.seen, text)
		}
	}
	return len(k.seen) < maxComplaints
}

// count returns how many kinds of trouble are remembered.
func (k *complaints) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

package complaints

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of what the daemon logs about requests and connections that it refuses. A faulty
// process may send the same request for ever, or a different one each time.
const (
	complainAgain  = 10 * time.Minute // an equal complaint is logged again after this time
	maxComplaints  = 256              // the number of different complaints that are logged in that time
	overflowAgain  = time.Minute      // the shortest time between two logged counts of further complaints
	complaintBytes = 512              // the largest part of a complaint's text that is kept and logged
)

// Log writes complaints to the daemon's log. Equal ones are written once in complainAgain. The
// zero Log is ready for use.
type Log struct {
	mu   sync.Mutex
	seen map[string]*complaint
	// omitted counts the complaints that were not logged, because there were too many
	// different ones, since omissionLogged. That is when the log last told their number.
	omitted        int
	omissionLogged time.Time
}

// complaint is one text that was logged.
type complaint struct {
	logged   time.Time
	repeated int // how often it came since
}

// Add logs a complaint, if its text has not been logged lately.
func (k *Log) Add(log *slog.Logger, what string, err error) {
	text := err.Error()
	if len(text) > complaintBytes {
		text = strings.ToValidUTF8(text[:complaintBytes], "") + "…"
	}
	switch how, n := k.note(what+": "+text, time.Now()); how {
	case logComplaint:
		log.Warn(what, "error", text, "repeated", n, "note", "an equal message is logged again after "+complainAgain.String())
	case logOmitted:
		log.Warn("more is refused than the log tells", "not_logged", n, "latest", what+": "+text)
	}
}

// complaintLog is what is logged of a complaint.
type complaintLog int

const (
	logNothing   complaintLog = iota
	logComplaint              // the text, and how often it was repeated
	logOmitted                // how many complaints were not logged
)

// note remembers a complaint and returns what is to be logged of it. N is the number that
// belongs to that.
func (k *Log) note(text string, now time.Time) (how complaintLog, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.seen[text]
	switch {
	case c != nil && now.Sub(c.logged) < complainAgain:
		c.repeated++
		return logNothing, 0
	case c == nil && !k.makeRoom(now):
		if k.omitted++; now.Sub(k.omissionLogged) < overflowAgain {
			return logNothing, 0
		}
		n, k.omitted, k.omissionLogged = k.omitted, 0, now
		return logOmitted, n
	case c == nil:
		if k.seen == nil {
			k.seen = make(map[string]*complaint)
		}
		c = &complaint{}
		k.seen[text] = c
	}
	n = c.repeated
	c.logged, c.repeated = now, 0
	return logComplaint, n
}

// makeRoom forgets old complaints if there are too many. It reports whether there is room for
// another one; mu held.
func (k *Log) makeRoom(now time.Time) bool {
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

// Count returns the number of different complaints that are remembered.
func (k *Log) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

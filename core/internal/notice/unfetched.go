package notice

import (
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
)

// A user is told of the first failures of a window, and how many more there were.
const (
	shownAtOnce = 10
	window      = 5 * time.Second
)

// IgnoreUnfetched is the variable of the environment that turns off reports about failures that nobody has fetched.
const IgnoreUnfetched = "RAY_IGNORE_UNHANDLED_ERRORS"

// Clock is what Unfetched asks of the session.
type Clock interface {
	// AfterFunc calls f under the session's mutex when d has passed, if the session is open then.
	AfterFunc(d time.Duration, f func()) *time.Timer
}

// Unfetched reports failures that nobody has looked at, and limits the number of reports.
// Its zero value reports nothing.
type Unfetched struct {
	tell  func(text string)
	clock Clock

	task   uint64 // count of the first return of the task that was told of last
	until  time.Time
	shown  int
	more   int    // of this window, not shown
	latest string // the last line of the latest of them
	timer  *time.Timer
}

// Start makes Unfetched report failures through a function, which must not block.
func (u *Unfetched) Start(tell func(text string), clock Clock) { u.tell, u.clock = tell, clock }

// Stop ends the reports.
func (u *Unfetched) Stop() { u.tell = nil }

// On returns whether failures are reported.
func (u *Unfetched) On() bool { return u.tell != nil }

// Unseen reports an object that goes, if it is a failure at which nobody has looked.
// Maker is the name of the function that made the object.
func (u *Unfetched) Unseen(o *refs.Object, maker string) {
	if o.Seen() || !o.Owned() {
		return
	}
	x := Failure{First: o.ID.Count() - uint64(max(o.ID.Index(), 1)-1), Name: maker}
	switch o.State() {
	case refs.Inline:
		x.Value, x.Size = o.Value(), o.Size()
	case refs.Stored:
		x.Size = o.Size()
	case refs.Failed, refs.Infeasible:
		x.Fault = o.Fault()
	default:
		return
	}
	u.NeverFetched(&x)
}

// NeverFetched reports a failure at which nobody has looked, once for each task.
func (u *Unfetched) NeverFetched(x *Failure) {
	if u.tell == nil || x.First == u.task {
		return
	}
	text := x.text()
	if text == "" {
		return
	}
	u.task = x.First
	now := time.Now()
	if now.After(u.until) {
		u.TellMore()
		u.until, u.shown = now.Add(window), 0
	}
	if u.shown++; u.shown > shownAtOnce {
		u.more++
		u.latest = text[strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1:]
		if u.more == 1 {
			u.timer = u.clock.AfterFunc(window, u.TellMore)
		}
		return
	}
	u.tell("Unhandled error (suppress with '" + IgnoreUnfetched + "=1'): " + text)
}

// TellMore says how many failures were not shown, if there are any.
func (u *Unfetched) TellMore() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if u.more > 0 && u.tell != nil {
		u.tell(fmt.Sprintf("Unhandled errors: %d more within %v that nobody fetched (suppress with '%s=1'); the last one: %s",
			u.more, window, IgnoreUnfetched, strings.TrimSpace(u.latest)))
	}
	u.more = 0
}

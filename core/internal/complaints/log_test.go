package complaints

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// complainer complains to a log.
type complainer struct {
	Log
	to *slog.Logger
}

func (d *complainer) refuse(what string, err error) { d.Add(d.to, what, err) }

// newComplainer returns a complainer, and what it has logged.
func newComplainer() (*complainer, *strings.Builder) {
	var b strings.Builder
	return &complainer{to: slog.New(slog.NewTextHandler(&b, nil))}, &b
}

func TestAdd_EqualMessages_AreLoggedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := newComplainer()
		say := func() { d.refuse("connection refused", errors.New("wrong version")) }
		for range 3 {
			say()
		}
		time.Sleep(complainAgain - 1)
		say()
		if n := strings.Count(log.String(), "wrong version"); n != 1 || !strings.Contains(log.String(), "repeated=0") {
			t.Fatalf("logged %d times:\n%s", n, log)
		}
		time.Sleep(time.Nanosecond)
		say()
		say()
		if n := strings.Count(log.String(), "wrong version"); n != 2 || !strings.Contains(log.String(), "repeated=3") {
			t.Errorf("logged %d times after a while:\n%s", n, log)
		}
		if d.Count() != 1 {
			t.Errorf("%d kinds of trouble are remembered", d.Count())
		}
	})
}

// However many different complaints there were, a new one shows in the log: at first
// by their number, and by itself when the old ones are forgotten.
func TestAdd_ManyDifferentMessages_TheLogGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := newComplainer()
		for i := range maxComplaints + 3 {
			d.refuse("message refused", fmt.Errorf("trouble %d.", i))
		}
		if n := strings.Count(log.String(), "trouble"); n != maxComplaints+1 || d.Count() != maxComplaints {
			t.Fatalf("%d lines, %d complaints are remembered", n, d.Count())
		}
		if !strings.Contains(log.String(), "not_logged=1 latest=\"message refused: trouble 256.\"") {
			t.Errorf("the log does not say that there is more:\n%.300s", log.String()[log.Len()-300:])
		}
		log.Reset()
		time.Sleep(overflowAgain)
		d.refuse("message refused", errors.New("another one"))
		if got := log.String(); !strings.Contains(got, "not_logged=3") || !strings.Contains(got, "another one") {
			t.Errorf("a minute later the log says %q", got)
		}
		log.Reset()
		d.refuse("message refused", fmt.Errorf("trouble %d.", 7)) // it is known
		if log.Len() != 0 {
			t.Errorf("a known complaint is logged again: %q", log)
		}
		time.Sleep(complainAgain)
		d.refuse("accept", errors.New("no descriptors"))
		if got := log.String(); !strings.Contains(got, "no descriptors") || d.Count() != 1 {
			t.Errorf("when the old ones are forgotten the log says %q, %d are remembered", got, d.Count())
		}
	})
}

// What a process sends decides the text of a complaint, so its length is bounded.
func TestAdd_LongText_IsCut(t *testing.T) {
	d, log := newComplainer()
	long := strings.Repeat("é", complaintBytes)
	d.refuse("message refused", errors.New(long))
	d.refuse("message refused", errors.New(long+"more"))
	if n := strings.Count(log.String(), "message refused"); n != 1 || log.Len() > 2*complaintBytes {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
	for text := range d.seen {
		if len(text) > complaintBytes+len("message refused: …") {
			t.Errorf("%d bytes are kept", len(text))
		}
	}
	short := strings.Repeat("x", complaintBytes)
	if d.refuse("m", errors.New(short)); !strings.Contains(log.String(), short+"\"") && !strings.Contains(log.String(), short+" ") {
		t.Error("a text that is just short enough is cut")
	}
}

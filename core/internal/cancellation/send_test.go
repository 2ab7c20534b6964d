package cancellation

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// cancelling is a cancellation that is on its way to a worker, in a bubble whose time the test moves. It plays the
// session.
type cancelling struct {
	*Cancellation
	mu     sync.Mutex
	outbox Outbox
	asked  []func(error) // the answers to the messages that were sent
	told   []string
}

func (k *cancelling) Tell(_ string, _ wire.Type, _ any, done func(error)) {
	k.asked = append(k.asked, done)
}

func (k *cancelling) Later(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.outbox.closed {
			f()
		}
	})
}

func (k *cancelling) Warn(text string) { k.told = append(k.told, text) }

// startCancellation sends a cancellation to the worker at /w.
func startCancellation(t *testing.T, wanted func() bool) *cancelling {
	t.Helper()
	k := new(cancelling)
	k.outbox.Init(k)
	k.Cancellation = k.outbox.Send("/w", wire.Cancel{TaskID: make([]byte, 24)}, "task f", true, wanted)
	return k
}

// answers is what becomes of the message that was sent last.
func (k *cancelling) answers(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[len(k.asked)-1](err)
}

// ends ends the session.
func (k *cancelling) ends() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.outbox.End()
}

// passes lets the pause before the next try pass.
func (k *cancelling) passes() {
	time.Sleep(mostPause)
	synctest.Wait()
}

// over reports whether nobody waits for the cancellation any more, and what who waited has heard.
func (k *cancelling) over() (is bool, err error) {
	select {
	case err = <-k.heard:
		return true, err
	default:
		return false, nil
	}
}

// A worker that cannot be reached for a long time hears the cancellation all the same, and the program hears that
// it takes so long.
func TestCancellation_ProcessCannotBeReached_IsSentUntilItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return true })
		for n := 1; len(k.told) == 0; n++ {
			if len(k.asked) != n || n > 2*warnAfter {
				t.Fatalf("after %d pauses it was sent %d times", n-1, len(k.asked))
			}
			k.answers(errors.New("nobody is there"))
			k.passes()
		}
		for _, word := range []string{"task f", k.addr, "sent again", "nobody is there"} {
			if !strings.Contains(k.told[0], word) {
				t.Errorf("%q is not in %q", word, k.told[0])
			}
		}
		if over, _ := k.over(); over {
			t.Error("it is over before it has arrived")
		}
		k.answers(nil)
		if over, err := k.over(); !over || err != nil {
			t.Errorf("it has arrived: over %v, %v", over, err)
		}
		k.passes()
		if n := len(k.asked); n != warnAfter+1 {
			t.Errorf("it was sent %d times, want %d", n, warnAfter+1)
		}
	})
}

func TestCancellation_TaskHasEnded_IsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return false })
		k.answers(errors.New("nobody is there"))
		k.passes()
		if over, err := k.over(); !over || err != nil || len(k.asked) != 1 {
			t.Errorf("over %v, %v, sent %d times, though nobody needs it", over, err, len(k.asked))
		}
	})
}

// What a process refuses is not sent again, and who waits hears of it.
func TestCancellation_Refused_WhoWaitsHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return true })
		k.answers(fault.New(fault.BadRequest, "no such thing"))
		k.passes()
		if over, err := k.over(); !over || fault.CodeOf(err) != fault.BadRequest || len(k.asked) != 1 {
			t.Errorf("over %v, %v, sent %d times", over, err, len(k.asked))
		}
	})
}

// Who waits for a cancellation that cannot be delivered goes on when the session ends, although nothing is sent again.
func TestCancellation_SessionEndsBeforeItIsSentAgain_NobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return true })
		k.answers(errors.New("nobody is there"))
		k.ends()
		if over, err := k.over(); !over || err != nil {
			t.Errorf("over %v, %v", over, err)
		}
		k.passes()
		if n := len(k.asked); n != 1 {
			t.Errorf("it is sent %d times", n)
		}
	})
}

// Who waits for a cancellation goes on, too, when the session ends while the cancellation is on its way to a process
// that does not answer.
func TestCancellation_SessionEndsWhileItIsSent_NobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return true })
		k.ends()
		k.answers(errors.New("the session is over")) // as the end of the connection is told
		if over, err := k.over(); !over || err != nil || len(k.outbox.resending) != 0 {
			t.Errorf("over %v, %v, %d are to be sent again", over, err, len(k.outbox.resending))
		}
	})
}

// A cancellation that nobody waits for is sent until it arrives, too.
func TestCancellation_NobodyWaits_IsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(cancelling)
		k.outbox.Init(k)
		k.outbox.Send("/w", wire.Cancel{}, "task f", false, func() bool { return true })
		k.answers(errors.New("nobody is there"))
		k.passes()
		if len(k.asked) != 2 {
			t.Fatalf("it was sent %d times, want 2", len(k.asked))
		}
		k.answers(nil)
		k.passes()
		if len(k.asked) != 2 || len(k.outbox.resending) != 0 {
			t.Errorf("it was sent %d times, %d are to be sent again", len(k.asked), len(k.outbox.resending))
		}
	})
}

// Whoever waits goes on after the patience, or when the process has heard.
func TestAwait_GoesOnAfterThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := startCancellation(t, func() bool { return true })
		began := time.Now()
		if err := k.Await(time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it went on after %v, %v", time.Since(began), err)
		}
		k.answers(fault.New(fault.BadRequest, "no such thing"))
		if err := k.Await(time.Minute); fault.CodeOf(err) != fault.BadRequest || time.Since(began) != time.Minute {
			t.Errorf("it went on after %v, %v", time.Since(began), err)
		}
	})
}

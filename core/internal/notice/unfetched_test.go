package notice

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/vmihailenco/msgpack/v5"
)

// lockedClock runs what was put off under a mutex, as the session does.
type lockedClock struct{ mu sync.Mutex }

func (c *lockedClock) AfterFunc(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		f()
	})
}

// Where the exception itself is not in this process, what is known of it is told.
func TestNeverFetched_ExceptionElsewhere_SaysWhatIsKnown(t *testing.T) {
	var said []string
	var u Unfetched
	u.Start(func(text string) { said = append(said, text) }, nil)
	begin := "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
	for i, x := range []struct {
		size uint64
		f    *fault.Error
		want string
	}{
		{5 << 20, nil, begin + "f raised an exception of 5242880 bytes, which lay in the object store"},
		{0, fault.New(fault.WorkerCrashed, "its worker died"), begin + "its worker died"},
		{0, fault.New(fault.OutOfMemory, "too much"), begin + "too much"},
		{0, fault.New(fault.TaskCancelled, "cancelled"), ""},
		{0, fault.New(fault.ActorDied, "dead"), ""},
	} {
		said = nil
		u.NeverFetched(&Failure{First: uint64(i + 1), Name: "f", Size: x.size, Fault: x.f})
		u.NeverFetched(&Failure{First: uint64(i + 1), Name: "f", Size: x.size, Fault: x.f}) // another result of the same task
		if got := strings.Join(said, "|"); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
	said = nil
	u.Stop()
	if u.NeverFetched(&Failure{First: 99, Name: "f", Size: 1}); said != nil || u.On() {
		t.Errorf("after its end it said %q", said)
	}
}

// What was not shown is counted, and told when the window is over or when the
// next failure comes after it.
func TestNeverFetched_WindowOver_TheRestIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		var u Unfetched
		var clock lockedClock
		u.Start(func(text string) { said = append(said, text) }, &clock)
		n := uint64(0)
		fails := func(many int) {
			clock.mu.Lock()
			defer clock.mu.Unlock()
			for range many {
				n++
				u.NeverFetched(&Failure{First: n, Name: "f", Fault: fault.New(fault.WorkerCrashed, "first line\ncrash %d\n", n)})
			}
		}
		fails(shownAtOnce)
		time.Sleep(2 * window)
		synctest.Wait()
		if len(said) != shownAtOnce {
			t.Fatalf("said %q", said)
		}
		said = nil
		fails(shownAtOnce + 3)
		time.Sleep(window + time.Second)
		synctest.Wait()
		if len(said) != shownAtOnce+1 || !strings.HasPrefix(said[shownAtOnce], "Unhandled errors: 3 more within 5s") || !strings.HasSuffix(said[shownAtOnce], "the last one: crash 23") {
			t.Fatalf("said %d, the last one %q", len(said), said[len(said)-1])
		}
		said = nil
		fails(1)
		if len(said) != 1 {
			t.Errorf("in the next window: %q", said)
		}
		u.Stop()
		fails(20)
		time.Sleep(2 * window)
		if len(said) != 1 {
			t.Errorf("switched off: %q", said)
		}
	})
}

// An exception that is elsewhere is told in its short form, or by its size when it has none.
func TestUnseen_ExceptionOutsideThisProcess_SaysWhatIsKnown(t *testing.T) {
	brief, err := msgpack.Marshal([]any{"f", "E: x", "in short", []byte("p")})
	if err != nil {
		t.Fatal(err)
	}
	points := func(p frame.Pointer) []byte {
		v := envelope.PointTo(&p)
		n := v.Size()
		return v.Envelope(n)
	}
	const begin = "Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): "
	self := ids.NewWorkerOn(1).Owner()
	for _, x := range []struct {
		what string
		o    refs.Facts
		want string
	}{
		{"a short form", refs.Facts{State: refs.Inline, Value: points(frame.Pointer{Size: 7, Brief: brief})}, begin + "in short"},
		{"no short form", refs.Facts{State: refs.Inline, Value: points(frame.Pointer{Size: 7})}, begin + "g failed because of an exception of 7 bytes, which lay in the object store"},
		{"a pointer that is none", refs.Facts{State: refs.Inline, Value: []byte("\x93\x01\x0bxyz")}, begin + "g failed"},
		{"one in the store", refs.Facts{State: refs.Stored, Size: 9}, begin + "g raised an exception of 9 bytes, which lay in the object store"},
		{"one that was looked at", refs.Facts{State: refs.Stored, Size: 9, Seen: true}, ""},
		{"one of another owner", refs.Facts{State: refs.Stored, Size: 9, OwnerAddr: "/sock"}, ""},
		{"one that is not ready", refs.Facts{State: refs.Pending}, ""},
	} {
		var said []string
		tell := func(text string) { said = append(said, text) }
		var u Unfetched
		u.Start(tell, nil)
		o := refs.Known(ids.NewObject(12, self, ids.JobOf(1), 3), x.o)
		u.Unseen(o, "g")
		if got := strings.Join(said, "|"); got != x.want {
			t.Errorf("%s: told %q, want %q", x.what, got, x.want)
		}
		if len(said) > 0 && u.task != 10 {
			t.Errorf("%s: the first result of its task has number %d, want 10", x.what, u.task)
		}
		u.Stop()
		said, u.task = nil, 0
		if u.Unseen(o, "g"); said != nil {
			t.Errorf("%s: told although that is switched off: %q", x.what, said)
		}
	}
}

package pressure

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/workers"
)

const gib = 1 << 30

var watchful = Options{Every: 250 * time.Millisecond, Threshold: 0.9, MinFree: -1}

// play runs the watch until the time is over.
func play(n *node, o Options, d time.Duration) {
	n.t.Helper()
	ended := make(chan struct{})
	m := n.watch(o)
	go func() {
		m.Run()
		close(ended)
	}()
	time.Sleep(d)
	synctest.Wait()
	close(n.stop)
	<-ended
}

func TestMemoryWatch_EnoughMemory_LooksEachTimeAndEndsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 100*gib)
		n.task(1, "f", gib)
		play(n, watchful, time.Second)
		if want := []time.Duration{0, 250e6, 500e6, 750e6, 1e9}; !slices.Equal(n.looks, want) {
			t.Errorf("the watch looked at %v, want %v", n.looks, want)
		}
		if got := n.ended(); got != nil {
			t.Errorf("ended %v", got)
		}
	})
}

// The less memory is left, the sooner the watch looks again: before it can be filled.
func TestMemoryWatch_LittleIsLeft_LooksSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 10*gib)
		n.others = 8 * gib // 1 GiB is left until the bar: an eighth of a second at full speed
		play(n, watchful, 300*time.Millisecond)
		if want := []time.Duration{0, 125e6, 250e6}; !slices.Equal(n.looks, want) {
			t.Errorf("the watch looked at %v, want %v", n.looks, want)
		}
	})
}

func TestMemoryWatch_NoMonitor_NeverLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, gib)
		n.task(1, "f", 2*gib)
		n.watch(Options{Threshold: 0.9, MinFree: -1}).Run()
		if n.looks != nil || n.ended() != nil {
			t.Errorf("the watch looked at %v and ended %v", n.looks, n.ended())
		}
	})
}

// One worker is ended at a time: the next one only when the process of the first is gone
// and its memory still does not suffice.
func TestMemoryWatch_MemoryIsShort_EndsOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 10*gib)
		n.dies = 2 * time.Second
		for id := range uint64(4) {
			n.task(id+1, "f", 4*gib)
			time.Sleep(time.Millisecond) // the next worker is newer
		}
		n.began = time.Now()
		play(n, watchful, 20*time.Second)
		if got := n.ended(); !slices.Equal(got, []uint64{4, 3}) {
			t.Fatalf("ended %v, want the two newest", got)
		}
		if first, second := n.events[0].at, n.events[1].at; first != 0 || second < n.dies || second > n.dies+watchful.Every+10*time.Millisecond {
			t.Errorf("ended at %v and %v; a process needs %v to end", first, second, n.dies)
		}
		text := n.events[0].why.Text
		for _, want := range []string{"task f (pid 4, RSS 4.00 GB", "node here is short of memory: the machine had 16.00 GB", "\n4\t4.00\teagleray worker: f"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in the report:\n%s", want, text)
			}
		}
	})
}

// A process that does not end holds the watch up for a while only.
func TestMemoryWatch_ProcessDoesNotEnd_TheNextWorkerIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 10*gib)
		n.dies = time.Hour
		n.task(1, "f", 8*gib)
		n.task(2, "g", 8*gib)
		play(n, watchful, 8*time.Second)
		if got := n.ended(); len(got) != 2 {
			t.Fatalf("ended %v, want both", got)
		}
		if at := n.events[1].at; at < goneWait || at > goneWait+2*watchful.Every {
			t.Errorf("the second worker was ended at %v", at)
		}
		time.Sleep(time.Hour) // the timers of the processes
	})
}

// The chosen worker does something else each time it is looked at. After exactLooks
// pictures another task of the same function will do.
func TestMemoryWatch_ChosenWorkerChanges_AnotherPictureIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *Work)
		want   []uint64
	}{
		"to the next task each time":        {func(w *Work) { w.Runs.Call++ }, []uint64{1}},
		"to a task that must not run twice": {func(w *Work) { w.Runs.Once = true }, []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, 10*gib)
				n.task(2, "g", 5*gib)
				time.Sleep(time.Second)
				n.task(1, "f", 5*gib)
				for id, v := range n.views {
					v.Work.Answered, v.Work.Runs.Busy, v.Work.Runs.Name = true, 1, v.Work.Name
					v.Work.Runs.AgeUs = time.Since(v.Work.Since).Microseconds()
					n.views[id] = v
				}
				n.changes = func(n *node, id uint64) {
					if id == 1 {
						v := n.views[1]
						c.change(&v.Work)
						n.views[1] = v
					}
				}
				play(n, watchful, time.Second)
				if got := n.ended(); !slices.Equal(got, c.want) {
					t.Errorf("ended %v, want %v", got, c.want)
				}
				if e := n.events[0]; e.exact == (e.id == 1) {
					t.Errorf("worker %d was ended with exact %v", e.id, e.exact)
				}
			})
		})
	}
}

// Memory that is there again while the watch looks a second time saves the worker.
func TestMemoryWatch_MemoryIsBackMeanwhile_EndsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 10*gib)
		n.task(1, "f", gib)
		n.others = 9 * gib
		n.changes = func(n *node, id uint64) {
			v := n.views[id]
			v.Work.Name = "g"
			n.views[id], n.others = v, 0
		}
		play(n, watchful, time.Second)
		if got := n.ended(); got != nil {
			t.Errorf("ended %v", got)
		}
	})
}

func TestMemoryWatch_NobodyCanBeEnded_WarnsOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 10*gib)
		n.others = 10 * gib
		play(n, watchful, 150*time.Second)
		if got := strings.Count(n.log.String(), "memory is short"); got != 3 {
			t.Errorf("%d warnings in two and a half minutes, want 3:\n%s", got, n.log.String())
		}
	})
}

// The session's own limit counts the processes below this one. The exact numbers, which
// take long to read, are read only when the others exceed the limit.
func TestMemoryWatch_LimitOfTheSession_CountsDescendants(t *testing.T) {
	me := os.Getpid()
	list := []workers.ProcStat{{Pid: me}, {Pid: 7, PPid: me}, {Pid: 8, PPid: 7}, {Pid: 9, PPid: 1}}
	for name, c := range map[string]struct {
		rough, exact uint64 // of each process
		used         uint64
		reads        int
	}{
		"below the limit":                    {45, 40, 90, 0},
		"above the limit":                    {60, 55, 110, 2},
		"above it with what is shared alone": {60, 10, 20, 2},
	} {
		f := &family{list: list, rough: c.rough, exact: c.exact}
		m := NewMemoryWatch(MemoryConfig{Options: Options{Threshold: 1, MinFree: -1, Limit: 100}, Figures: f})
		l, left, ok := m.tightest()
		if !ok || l.Name != "the session" || l.Anon != c.used || left != 100-int64(c.used) || f.exactReads != c.reads {
			t.Errorf("%s: %+v with %d left after %d exact reads", name, l, left, f.exactReads)
		}
	}
}

// family is Figures in which all processes are alike.
type family struct {
	list         []workers.ProcStat
	rough, exact uint64
	exactReads   int
}

func (*family) Levels() []machine.Level         { return []machine.Level{{Name: "the machine", Room: 1000}} }
func (*family) Kills() uint64                   { return 0 }
func (f *family) Processes() []workers.ProcStat { return f.list }
func (*family) Command(int) string              { return "" }
func (f *family) Anonymous(_ int, exact bool) uint64 {
	if exact {
		f.exactReads++
		return f.exact
	}
	return f.rough
}

// A worker's death is the kernel's when the kernel has just ended processes because memory
// was short. A kill that is older explains nothing.
func TestMemoryWatch_KernelKill_ExplainsDeathsShortlyAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, gib)
		n.kills = 3 // before the watch began
		n.bytes[9] = gib
		m := n.watch(watchful)
		described := 0
		ask := func() (Ending, bool) {
			return m.KernelKill(func() (what, status string) {
				described++
				return "task f", "worker pid 77 was killed by signal 9"
			})
		}
		if why, ok := ask(); ok || described != 0 {
			t.Fatalf("the kernel has ended nobody: %+v", why)
		}
		n.kills++
		for range 2 { // each death after the kill
			why, ok := ask()
			if !ok || why.Code != fault.OutOfMemory {
				t.Fatalf("the kill does not explain the death: %+v", why)
			}
			for _, words := range []string{"task f", "worker pid 77 was killed by signal 9", "node here", "\n9\t1.00\tprog"} {
				if !strings.Contains(why.Text, words) {
					t.Errorf("%q is not in the report:\n%s", words, why.Text)
				}
			}
			time.Sleep(recently)
		}
		time.Sleep(time.Nanosecond)
		if why, ok := ask(); ok {
			t.Errorf("an old kill explains the death: %+v", why)
		}
	})
}

// The watch itself counts the kernel's kills from time to time, so that an old one does
// not look new to the first who asks.
func TestMemoryWatch_Run_NoticesKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 100*gib)
		m := n.watch(watchful)
		go m.Run()
		synctest.Wait()
		n.mu.Lock()
		n.kills++
		n.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n.asked > 7 {
			t.Errorf("the kills were read %d times in ten seconds", n.asked)
		}
		if why, ok := m.KernelKill(func() (string, string) { return "", "" }); ok {
			t.Errorf("a kill of ten seconds ago explains the death: %+v", why)
		}
		close(n.stop)
	})
}

package retry

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// words are the setbacks and refusals as the tables below write them.
var (
	setbackNames = [...]string{"not begun", "worker died", "answer lost", "actor died", "worker ended", "memory ran out", "exception", "argument lost", "result lost", "not enlarged"}
	refusalNames = [...]string{"again", "cancelled", "no retries", "used up", "forbidden", "no more memory", "lost too often", "lineage off"}
)

// Each setback meets a task with each kind of budget. The table says for each
// what becomes of the task: "again", with what this costs, or why it ends.
func TestDecide_EachSetbackWithEachBudget(t *testing.T) {
	budgets := []struct {
		name string
		b    Budget
	}{
		{"no retries", Budget{Most: 0, MostOOM: -1}},
		{"one of one left", Budget{Most: 1, MostOOM: -1}},
		{"none of one left", Budget{Most: 1, MostOOM: -1, Attempts: Attempts{Tries: 1}}},
		{"unlimited", Budget{Most: -1, MostOOM: -1, Attempts: Attempts{Tries: 1000}}},
	}
	const (
		free = "again, free"
		pays = "again, one retry"
		none = "no retries"
		used = "used up"
	)
	want := map[Setback][4]string{
		NotBegun:     {free, free, free, free},
		WorkerDied:   {none, pays, used, pays},
		AnswerLost:   {none, pays, used, pays},
		ActorDied:    {none, pays, used, pays},
		WorkerEnded:  {"forbidden", "forbidden", "forbidden", "forbidden"},
		MemoryRanOut: {none, free, free, free},
		Raised:       {none, pays, used, pays},
		ArgumentLost: {free, free, free, free},
		ResultLost:   {none, pays, used, pays},
		NotEnlarged:  {"no more memory", "no more memory", "no more memory", "no more memory"},
	}
	for s := range Setbacks {
		for i, x := range budgets {
			v := x.b.Decide(s)
			got := refusalNames[v.Refusal]
			switch {
			case v.Again() && v.Used.Tries == x.b.Tries:
				got = free
			case v.Again() && v.Used.Tries == x.b.Tries+1:
				got = pays
			}
			if got != want[s][i] {
				t.Errorf("%s, %s: %s, want %s", setbackNames[s], x.name, got, want[s][i])
			}
			canceled := x.b
			canceled.Canceled = true
			wantCanceled := "cancelled"
			switch {
			case s == ResultLost: // it has had its results
				wantCanceled = refusalNames[v.Refusal]
			case s == Raised && !v.Again(): // the exception is its result
				wantCanceled = want[s][i]
			}
			if w := canceled.Decide(s); refusalNames[w.Refusal] != wantCanceled || s != ResultLost && w.Used != x.b.Attempts {
				t.Errorf("%s, %s, cancelled: %s, want %s; used %+v", setbackNames[s], x.name, refusalNames[w.Refusal], wantCanceled, w.Used)
			}
		}
	}
}

// Setbacks that max_retries does not pay for have bounds of their own.
func TestDecide_SetbacksWithTheirOwnBounds(t *testing.T) {
	for _, x := range []struct {
		what string
		b    Budget
		s    Setback
		want Refusal
		used Attempts
	}{
		{"memory, bound of two, none used", Budget{Most: 1, MostOOM: 2}, MemoryRanOut, Permitted, Attempts{OOMs: 1}},
		{"memory, bound of two, one used", Budget{Most: 1, MostOOM: 2, Attempts: Attempts{Tries: 1, OOMs: 1}}, MemoryRanOut, Permitted, Attempts{Tries: 1, OOMs: 2}},
		{"memory, bound of two, both used", Budget{Most: 1, MostOOM: 2, Attempts: Attempts{OOMs: 2}}, MemoryRanOut, UsedUp, Attempts{OOMs: 2}},
		{"memory, bound of none", Budget{Most: -1, MostOOM: 0}, MemoryRanOut, UsedUp, Attempts{}},
		{"memory, unlimited, the count is full", Budget{Most: 1, MostOOM: -1, Attempts: Attempts{OOMs: 255}}, MemoryRanOut, Permitted, Attempts{OOMs: 255}},
		{"memory, the node has no more", Budget{Most: 9, MostOOM: -1, Attempts: Attempts{Tries: 2, Crashes: 3, OOMs: 4, Misses: 5}}, NotEnlarged, NoMoreMemory, Attempts{Tries: 2, Crashes: 3, OOMs: 4, Misses: 5}},
		{"argument, last time", Budget{Most: 0, Attempts: Attempts{Misses: MaxMisses - 1}}, ArgumentLost, Permitted, Attempts{Misses: MaxMisses}},
		{"argument, once too often", Budget{Most: -1, Attempts: Attempts{Misses: MaxMisses}}, ArgumentLost, LostTooOften, Attempts{Misses: MaxMisses}},
		{"result, no lineage", Budget{Most: -1, NoLineage: true}, ResultLost, LineageOff, Attempts{}},
		{"result, no lineage and no retries", Budget{Most: 0, NoLineage: true}, ResultLost, LineageOff, Attempts{}},
		{"result, the run counts its other setbacks anew", Budget{Most: 9, Attempts: Attempts{Tries: 2, Crashes: 3, OOMs: 4, Misses: 5}}, ResultLost, Permitted, Attempts{Tries: 3}},
		{"a crash keeps the other counts", Budget{Most: 9, Attempts: Attempts{Tries: 2, Crashes: 3, OOMs: 4, Misses: 5}}, WorkerDied, Permitted, Attempts{Tries: 3, Crashes: 4, OOMs: 4, Misses: 5}},
		{"a crash, the count is full", Budget{Most: -1, Attempts: Attempts{Tries: math.MaxInt32, Crashes: 255}}, WorkerDied, Permitted, Attempts{Tries: math.MaxInt32, Crashes: 255}},
		{"a lost answer is no crash", Budget{Most: 9, Attempts: Attempts{Tries: 2, Crashes: 3}}, AnswerLost, Permitted, Attempts{Tries: 3, Crashes: 3}},
		{"the last crash is told with all its tries", Budget{Most: 2, Attempts: Attempts{Tries: 2}}, WorkerDied, UsedUp, Attempts{Tries: 3}},
	} {
		if v := x.b.Decide(x.s); v.Refusal != x.want || v.Used != x.used {
			t.Errorf("%s: %s, used %+v; want %s, %+v", x.what, refusalNames[v.Refusal], v.Used, refusalNames[x.want], x.used)
		}
	}
}

// The first retry after a crash is immediate, then delays grow. The setting for
// all retries is the least delay after a crash and after an exception; retries
// for want of memory have delays of their own.
func TestDecide_Delays(t *testing.T) {
	const pause, oomPause = 30 * time.Millisecond, time.Second
	for _, x := range []struct {
		s            Setback
		used         Attempts
		pause        time.Duration
		least, grows time.Duration
	}{
		{s: WorkerDied},
		{s: WorkerDied, pause: pause, least: pause},
		{s: WorkerDied, used: Attempts{Crashes: 1}, grows: crashDelay},
		{s: WorkerDied, used: Attempts{Crashes: 3}, pause: pause, least: pause, grows: 4 * crashDelay},
		{s: WorkerDied, used: Attempts{Crashes: 254}, grows: maxCrashDelay},
		{s: AnswerLost, used: Attempts{Crashes: 3}, pause: pause},
		{s: NotBegun, used: Attempts{Crashes: 3}, pause: pause},
		{s: ActorDied, used: Attempts{Crashes: 3}, pause: pause},
		{s: ArgumentLost, used: Attempts{Misses: 3}, pause: pause},
		{s: ResultLost, pause: pause},
		{s: Raised},
		{s: Raised, used: Attempts{Tries: 5, Crashes: 5}, pause: pause, least: pause},
		{s: MemoryRanOut, pause: pause, least: oomPause},
		{s: MemoryRanOut, used: Attempts{OOMs: 3}, least: 8 * oomPause},
		{s: MemoryRanOut, used: Attempts{OOMs: 200}, least: maxOOMDelay},
	} {
		b := Budget{Attempts: x.used, Most: -1, MostOOM: -1, Pause: x.pause, OOMPause: oomPause}
		v := b.Decide(x.s)
		if v.Least != x.least || v.Grows != x.grows {
			t.Errorf("%s after %+v, pause %v: at least %v, grows to %v; want %v, %v", setbackNames[x.s], x.used, x.pause, v.Least, v.Grows, x.least, x.grows)
		}
		if w := v.Wait(); w < x.least || w < x.grows*3/4 || w > max(x.least, x.grows*5/4) {
			t.Errorf("%s after %+v waits %v, want at least %v and about %v", setbackNames[x.s], x.used, w, x.least, x.grows)
		}
	}
}

// Whatever happens to a task in whatever order, it runs again at most as often as its bounds together allow.
func TestDecide_AnyOrderOfSetbacks_RunsAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	for range 2000 {
		b := Budget{Most: rng.IntN(4), MostOOM: rng.IntN(3)}
		paid, free := 0, 0
		var story []string
		for range 200 {
			s := Setback(1 + rng.IntN(int(Setbacks)-1)) // a run that was not begun is none
			if s == ResultLost {
				continue // this begins a run of its own
			}
			story = append(story, setbackNames[s])
			v := b.Decide(s)
			if !v.Again() {
				break
			}
			if v.Used.Tries > b.Tries {
				paid++
			} else {
				free++
			}
			b.Attempts = v.Used
		}
		if paid > b.Most || free > b.MostOOM+MaxMisses {
			t.Fatalf("max_retries=%d, task_oom_retries=%d: %d runs were paid for and %d were free: %q", b.Most, b.MostOOM, paid, free, story)
		}
	}
}

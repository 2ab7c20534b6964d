package client

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// words are the setbacks and refusals as the tables below write them.
var (
	setbackNames = [...]string{"not begun", "worker died", "answer lost", "actor died", "worker ended", "memory ran out", "exception", "argument lost", "result lost"}
	refusalNames = [...]string{"again", "cancelled", "no retries", "used up", "forbidden", "no more memory", "lost too often", "lineage off"}
)

// Each setback meets a task with each kind of budget. The table says for each
// what becomes of the task: "again", with what this costs, or why it ends.
func TestDecide_EachSetbackWithEachBudget(t *testing.T) {
	budgets := []struct {
		name string
		b    budget
	}{
		{"no retries", budget{most: 0, mostOOM: -1}},
		{"one of one left", budget{most: 1, mostOOM: -1}},
		{"none of one left", budget{most: 1, mostOOM: -1, attempts: attempts{tries: 1}}},
		{"unlimited", budget{most: -1, mostOOM: -1, attempts: attempts{tries: 1000}}},
	}
	const (
		free = "again, free"
		pays = "again, one retry"
		none = "no retries"
		used = "used up"
	)
	want := map[setback][4]string{
		notBegun:     {free, free, free, free},
		workerDied:   {none, pays, used, pays},
		answerLost:   {none, pays, used, pays},
		actorDied:    {none, pays, used, pays},
		workerEnded:  {"forbidden", "forbidden", "forbidden", "forbidden"},
		memoryRanOut: {none, free, free, free},
		raised:       {none, pays, used, pays},
		argumentLost: {free, free, free, free},
		resultLost:   {none, pays, used, pays},
	}
	for s := range setbacks {
		for i, x := range budgets {
			v := x.b.decide(s)
			got := refusalNames[v.refusal]
			switch {
			case v.again() && v.used.tries == x.b.tries:
				got = free
			case v.again() && v.used.tries == x.b.tries+1:
				got = pays
			}
			if got != want[s][i] {
				t.Errorf("%s, %s: %s, want %s", setbackNames[s], x.name, got, want[s][i])
			}
			canceled := x.b
			canceled.canceled = true
			wantCanceled := "cancelled"
			switch {
			case s == resultLost: // it has had its results
				wantCanceled = refusalNames[v.refusal]
			case s == raised && !v.again(): // the exception is its result
				wantCanceled = want[s][i]
			}
			if w := canceled.decide(s); refusalNames[w.refusal] != wantCanceled || s != resultLost && w.used != x.b.attempts {
				t.Errorf("%s, %s, cancelled: %s, want %s; used %+v", setbackNames[s], x.name, refusalNames[w.refusal], wantCanceled, w.used)
			}
		}
	}
}

// Setbacks that max_retries does not pay for have bounds of their own.
func TestDecide_SetbacksWithTheirOwnBounds(t *testing.T) {
	for _, x := range []struct {
		what string
		b    budget
		s    setback
		want refusal
		used attempts
	}{
		{"memory, bound of two, none used", budget{most: 1, mostOOM: 2}, memoryRanOut, permitted, attempts{ooms: 1}},
		{"memory, bound of two, one used", budget{most: 1, mostOOM: 2, attempts: attempts{tries: 1, ooms: 1}}, memoryRanOut, permitted, attempts{tries: 1, ooms: 2}},
		{"memory, bound of two, both used", budget{most: 1, mostOOM: 2, attempts: attempts{ooms: 2}}, memoryRanOut, usedUp, attempts{ooms: 2}},
		{"memory, bound of none", budget{most: -1, mostOOM: 0}, memoryRanOut, usedUp, attempts{}},
		{"memory, unlimited, the count is full", budget{most: 1, mostOOM: -1, attempts: attempts{ooms: 255}}, memoryRanOut, permitted, attempts{ooms: 255}},
		{"memory, the node has no more", budget{most: 1, mostOOM: -1, allMemory: true}, memoryRanOut, noMoreMemory, attempts{}},
		{"memory, no retries and no more", budget{most: 0, mostOOM: -1, allMemory: true}, memoryRanOut, noRetries, attempts{}},
		{"argument, last time", budget{most: 0, attempts: attempts{misses: maxMisses - 1}}, argumentLost, permitted, attempts{misses: maxMisses}},
		{"argument, once too often", budget{most: -1, attempts: attempts{misses: maxMisses}}, argumentLost, lostTooOften, attempts{misses: maxMisses}},
		{"result, no lineage", budget{most: -1, noLineage: true}, resultLost, lineageOff, attempts{}},
		{"result, no lineage and no retries", budget{most: 0, noLineage: true}, resultLost, lineageOff, attempts{}},
		{"result, the run counts its other setbacks anew", budget{most: 9, attempts: attempts{tries: 2, crashes: 3, ooms: 4, misses: 5}}, resultLost, permitted, attempts{tries: 3}},
		{"a crash keeps the other counts", budget{most: 9, attempts: attempts{tries: 2, crashes: 3, ooms: 4, misses: 5}}, workerDied, permitted, attempts{tries: 3, crashes: 4, ooms: 4, misses: 5}},
		{"a crash, the count is full", budget{most: -1, attempts: attempts{tries: math.MaxInt32, crashes: 255}}, workerDied, permitted, attempts{tries: math.MaxInt32, crashes: 255}},
		{"a lost answer is no crash", budget{most: 9, attempts: attempts{tries: 2, crashes: 3}}, answerLost, permitted, attempts{tries: 3, crashes: 3}},
		{"the last crash is told with all its tries", budget{most: 2, attempts: attempts{tries: 2}}, workerDied, usedUp, attempts{tries: 3}},
	} {
		if v := x.b.decide(x.s); v.refusal != x.want || v.used != x.used {
			t.Errorf("%s: %s, used %+v; want %s, %+v", x.what, refusalNames[v.refusal], v.used, refusalNames[x.want], x.used)
		}
	}
}

// The first retry after a crash is immediate, then delays grow. The setting for
// all retries is the least delay after a crash and after an exception; retries
// for want of memory have delays of their own.
func TestDecide_Delays(t *testing.T) {
	const pause, oomPause = 30 * time.Millisecond, time.Second
	for _, x := range []struct {
		s            setback
		used         attempts
		pause        time.Duration
		least, grows time.Duration
	}{
		{s: workerDied},
		{s: workerDied, pause: pause, least: pause},
		{s: workerDied, used: attempts{crashes: 1}, grows: crashDelay},
		{s: workerDied, used: attempts{crashes: 3}, pause: pause, least: pause, grows: 4 * crashDelay},
		{s: workerDied, used: attempts{crashes: 254}, grows: maxCrashDelay},
		{s: answerLost, used: attempts{crashes: 3}, pause: pause},
		{s: notBegun, used: attempts{crashes: 3}, pause: pause},
		{s: actorDied, used: attempts{crashes: 3}, pause: pause},
		{s: argumentLost, used: attempts{misses: 3}, pause: pause},
		{s: resultLost, pause: pause},
		{s: raised},
		{s: raised, used: attempts{tries: 5, crashes: 5}, pause: pause, least: pause},
		{s: memoryRanOut, pause: pause, least: oomPause},
		{s: memoryRanOut, used: attempts{ooms: 3}, least: 8 * oomPause},
		{s: memoryRanOut, used: attempts{ooms: 200}, least: maxOOMDelay},
	} {
		b := budget{attempts: x.used, most: -1, mostOOM: -1, pause: x.pause, oomPause: oomPause}
		v := b.decide(x.s)
		if v.least != x.least || v.grows != x.grows {
			t.Errorf("%s after %+v, pause %v: at least %v, grows to %v; want %v, %v", setbackNames[x.s], x.used, x.pause, v.least, v.grows, x.least, x.grows)
		}
		if w := v.wait(); w < x.least || w < x.grows*3/4 || w > max(x.least, x.grows*5/4) {
			t.Errorf("%s after %+v waits %v, want at least %v and about %v", setbackNames[x.s], x.used, w, x.least, x.grows)
		}
	}
}

// Whatever happens to a task in whatever order, it runs again at most as often as its bounds together allow.
func TestDecide_AnyOrderOfSetbacks_RunsAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	for range 2000 {
		b := budget{most: rng.IntN(4), mostOOM: rng.IntN(3)}
		paid, free := 0, 0
		var story []string
		for range 200 {
			s := setback(1 + rng.IntN(int(setbacks)-1)) // a run that was not begun is none
			if s == resultLost {
				continue // this begins a run of its own
			}
			story = append(story, setbackNames[s])
			v := b.decide(s)
			if !v.again() {
				break
			}
			if v.used.tries > b.tries {
				paid++
			} else {
				free++
			}
			b.attempts = v.used
		}
		if paid > b.most || free > b.mostOOM+maxMisses {
			t.Fatalf("max_retries=%d, task_oom_retries=%d: %d runs were paid for and %d were free: %q", b.most, b.mostOOM, paid, free, story)
		}
	}
}

// All runs of a generator have one budget, and a setback that costs nothing leaves each run's own count alone.
func TestSpend_RunsOfAGenerator_ShareOneBudget(t *testing.T) {
	tm := &Template{MaxRetries: 3}
	first := &task{tmpl: tm, stream: &stream{}}
	second := &task{tmpl: tm, stream: &stream{first: first.stream, again: true}}
	c := bare(&Client{})
	for i, x := range []struct {
		t     *task
		s     setback
		total int32
		own   string
	}{
		{first, workerDied, 1, "1 0"},
		{second, resultLost, 2, "1 2"},
		{first, notBegun, 2, "1 2"},
		{first, raised, 3, "3 2"},
		{second, notBegun, 3, "3 2"},
	} {
		if v := c.retry(x.t, x.s); !v.again() {
			t.Errorf("step %d: %s", i, refusalNames[v.refusal])
		}
		own := fmt.Sprint(first.tries, second.tries)
		if first.tried() != x.total || second.tried() != x.total || own != x.own {
			t.Errorf("step %d: %d and %d tries, want %d; of their own %s, want %s", i, first.tried(), second.tried(), x.total, own, x.own)
		}
	}
	if v := c.retry(second, workerDied); v.refusal != usedUp {
		t.Errorf("after all retries: %s", refusalNames[v.refusal])
	}
}

// A successor goes on with what a task has used. A field that is added is written down, too, or this fails.
func TestAttempts_SuccessorKnowsEachOfThem(t *testing.T) {
	var whole attempts
	v := reflect.ValueOf(&whole).Elem()
	for i := range v.NumField() {
		f := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem() // the fields are not exported
		switch {
		case f.CanInt():
			f.SetInt(int64(3 + i))
		case f.CanUint():
			f.SetUint(uint64(3 + i))
		default:
			t.Fatalf("this test does not know how to set the field %s", v.Type().Field(i).Name)
		}
	}
	var x willTask
	whole.write(&x)
	if got := attemptsOf(&x); got != whole {
		t.Errorf("a task that has used %+v has used %+v in the successor", whole, got)
	}
	h := heirOf(t, new(will))
	k, err := h.task(&x, &Template{})
	if err != nil || k.attempts != whole {
		t.Errorf("the successor's task has used %+v, %v", k.attempts, err)
	}
	owner := writesWill(t)
	written := (&inventory{c: owner.Client, w: new(will)}).written(&task{tmpl: owner.tmpl, attempts: whole}, taskSent)
	if got := attemptsOf(&written); got != whole {
		t.Errorf("a task that has used %+v is written down with %+v", whole, got)
	}
}

package workers

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// zygoteAsking adds a zygote of an environment that says this to a table.
func zygoteAsking(tb *Table, job uint32, text string) *envZygote {
	z := &envZygote{asked: text, began: time.Now()}
	z.Zygote = NewZygote(&wire.EnvSpec{}, ids.JobOf(job), "", "", nil)
	tb.zygotes[envKey{ids.JobOf(job), text}] = z
	return z
}

func TestRuntimeEnvs_EqualOnesOfTwoJobs_AreOneRow(t *testing.T) {
	tb := newTable(Options{Lock: new(sync.Mutex)})
	first, second, starts := zygoteAsking(tb, 1, "a"), zygoteAsking(tb, 2, "a"), zygoteAsking(tb, 1, "b")
	zygoteAsking(tb, 1, "") // of a program that has asked for nothing
	first.ready, first.took = true, 2*time.Millisecond
	second.ready, second.took = true, time.Millisecond
	for _, w := range []*Worker{{zygote: first}, {zygote: second, state: Ready}, {zygote: starts, state: Gone}, {}} {
		tb.workers[w] = struct{}{}
	}
	want := []wire.EnvRow{{RuntimeEnv: "a", Success: true, SetupUs: 2000, Users: 2}, {RuntimeEnv: "b"}}
	if got := tb.RuntimeEnvs(); !slices.Equal(got, want) {
		t.Errorf("the rows are %+v, want %+v", got, want)
	}
}

func TestRuntimeEnvs_Failure_IsShownForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := newTable(Options{Lock: new(sync.Mutex)})
		tb.noteFailure(zygoteAsking(tb, 1, "a"), strings.Repeat("ä", maxFailureText))
		clear(tb.zygotes)
		rows := tb.RuntimeEnvs()
		if len(rows) != 1 || rows[0].Success || rows[0].Error != strings.Repeat("ä", maxFailureText/2) {
			t.Errorf("the rows are %+v", rows)
		}
		zygoteAsking(tb, 1, "a").ready = true // it could be made after all
		if rows = tb.RuntimeEnvs(); len(rows) != 1 || !rows[0].Success || rows[0].Error != "" {
			t.Errorf("the rows are %+v", rows)
		}
		clear(tb.zygotes)
		time.Sleep(failureShown + time.Second)
		if rows = tb.RuntimeEnvs(); len(rows) != 0 {
			t.Errorf("later the rows are %+v", rows)
		}
	})
}

func TestNoteFailure_EndedOnPurpose_IsNone(t *testing.T) {
	tb := newTable(Options{Lock: new(sync.Mutex)})
	told, ready, killed := zygoteAsking(tb, 1, "told"), zygoteAsking(tb, 1, "ready"), zygoteAsking(tb, 1, "killed")
	told.Close("its job has ended")
	ready.ready, killed.killed = true, true
	for _, z := range []*envZygote{told, ready, killed, zygoteAsking(tb, 1, "")} {
		tb.noteFailure(z, "why")
	}
	for i := range keptFailures + 5 {
		tb.noteFailure(zygoteAsking(tb, 1, string(rune('a'+i))), "why")
	}
	if n := len(tb.failures); n != keptFailures {
		t.Errorf("%d failures are kept, want %d", n, keptFailures)
	}
	for _, f := range tb.failures {
		if f.text == "told" || f.text == "ready" || f.text == "killed" || f.text == "" {
			t.Errorf("%q counts as a failure", f.text)
		}
	}
}

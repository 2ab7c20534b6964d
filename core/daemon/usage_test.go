package daemon

import (
	"fmt"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/workers"
)

// The processes with the most memory come first; ten of them are named, workers
// by what they run and others by their command.
func TestUsage_Largest_MostFirstAndTenAreNamed(t *testing.T) {
	me := os.Getpid()
	v := &usage{bytes: map[int]uint64{}, names: map[int]string{1002: "eagleray worker: f"}}
	for i := range 12 {
		v.processes = append(v.processes, workers.ProcStat{Pid: 1000 + i})
		v.bytes[1000+i] = uint64(100 + i)
		v.names[1000+i] = fmt.Sprintf("w%d", i)
	}
	v.processes = append(v.processes, workers.ProcStat{Pid: me}, workers.ProcStat{Pid: 999})
	v.bytes[me], v.bytes[999] = 1000, 0
	got := v.largest()
	if len(got) != 13 {
		t.Fatalf("%d processes are listed, want 13: those that have memory", len(got))
	}
	if got[0].Pid != me || got[0].Bytes != 1000 || got[0].Command != machine.ProcessCommand(me) || got[0].Command == "" {
		t.Errorf("the first is %+v", got[0])
	}
	for i, p := range got[1:] {
		n, name := 11-i, fmt.Sprintf("w%d", 11-i)
		if i >= 9 {
			name = "" // only ten are named
		}
		if p.Pid != 1000+n || p.Bytes != uint64(100+n) || p.Command != name {
			t.Errorf("place %d: %+v, want %q", i+1, p, name)
		}
	}
	if got := (&usage{processes: []workers.ProcStat{{Pid: 7}}, bytes: map[int]uint64{7: 1}, names: map[int]string{7: "w"}}).largest(); len(got) != 1 || got[0].Command != "w" {
		t.Errorf("one process: %+v", got)
	}
}

// A worker has the memory of its own process, of those below it and of those in
// its session, each once.
func TestUsage_Below_DescendantsAndSessionOnce(t *testing.T) {
	me := os.Getpid()
	own := func() uint64 { return machine.ProcessAnon(me, true) }
	v := &usage{bytes: map[int]uint64{101: 1 << 40, 102: 1 << 41, 103: 1 << 42, 104: 1 << 43, 105: 1 << 44}}
	v.processes = []workers.ProcStat{
		{Pid: me, PPid: 1, Session: 1}, {Pid: 101, PPid: me, Session: 9}, {Pid: 102, PPid: 101, Session: me},
		{Pid: 103, PPid: 1, Session: me}, {Pid: 104, PPid: 1, Session: 9}, {Pid: 105, PPid: 104, Session: 104},
	}
	got := v.below(me)
	if rest := got &^ (1<<40 - 1); rest != 1<<40|1<<41|1<<42 {
		t.Errorf("the others have %x, want %x", rest, uint64(1<<40|1<<41|1<<42))
	}
	if own() == 0 || got&(1<<40-1) == 0 || v.bytes[me] == 0 {
		t.Errorf("the process itself has %d bytes, %d are noted", got&(1<<40-1), v.bytes[me])
	}
}

// A worker that the scheduler does not know, and one without a process, may not be ended.
func TestEndable_UnknownWorker_MayNotBeEnded(t *testing.T) {
	d, _ := opened(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.endable(&worker{id: 1000, state: stateReady, proc: &workers.Process{}}, nil); ok {
		t.Error("a worker that the scheduler does not know may be ended")
	}
}

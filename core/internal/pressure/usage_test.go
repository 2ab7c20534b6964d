package pressure

import (
	"fmt"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// The processes with the most memory come first; ten of them are named, workers
// by what they run and others by their command.
func TestUsage_Largest_MostFirstAndTenAreNamed(t *testing.T) {
	me := os.Getpid()
	u := &usage{figures: FiguresOf(""), bytes: map[int]uint64{}, names: map[int]string{}}
	for i := range 12 {
		u.processes = append(u.processes, workers.ProcStat{Pid: 1000 + i})
		u.bytes[1000+i] = uint64(100 + i)
		u.names[1000+i] = fmt.Sprintf("w%d", i)
	}
	u.processes = append(u.processes, workers.ProcStat{Pid: me}, workers.ProcStat{Pid: 999})
	u.bytes[me], u.bytes[999] = 1000, 0
	got := u.largest()
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
}

// A worker has the memory of its own process, of those below it and of those in
// its session, each once.
func TestUsage_Below_DescendantsAndSessionOnce(t *testing.T) {
	const pid = 7
	u := &usage{figures: &family{exact: 3}, bytes: map[int]uint64{101: 1 << 40, 102: 1 << 41, 103: 1 << 42, 104: 1 << 43, 105: 1 << 44}, names: map[int]string{}}
	u.processes = []workers.ProcStat{
		{Pid: pid, PPid: 1, Session: 1}, {Pid: 101, PPid: pid, Session: 9}, {Pid: 102, PPid: 101, Session: pid},
		{Pid: 103, PPid: 1, Session: pid}, {Pid: 104, PPid: 1, Session: 9}, {Pid: 105, PPid: 104, Session: 104},
	}
	w := Worker{Pid: pid}
	u.add(&w)
	if want := uint64(1<<40 | 1<<41 | 1<<42 | 3); w.Bytes != want {
		t.Errorf("the worker has %x bytes, want %x", w.Bytes, want)
	}
	if u.bytes[pid] != 3 || u.names[pid] != "eagleray worker: idle" {
		t.Errorf("the process has %d bytes and the name %q", u.bytes[pid], u.names[pid])
	}
}

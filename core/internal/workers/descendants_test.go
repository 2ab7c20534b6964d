package workers

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	for line, want := range map[string]ProcStat{
		"7 (cat) R 3 7 5 34816 7 4194304":     {7, 3, 7, 5, 'R'},
		"7 (a) b ) (c) Z 1 0 -1 0 -1 4194":    {7, 1, 0, -1, 'Z'},
		"7 (cat) R 3 7 x 34816":               {},
		"7 (cat) R 3 7 5":                     {}, // cut
		"7 (cat) R 3  5 6 ":                   {},
		"7 (cat":                              {},
		"7 (cat)":                             {},
		"":                                    {},
		"7 (cat) R 99999999999999999999 7 5 ": {},
	} {
		got, ok := parseStat(7, []byte(line))
		if ok != (want != ProcStat{}) || ok && got != want {
			t.Errorf("%q: %+v %v", line, got, ok)
		}
	}
	me, ok := readStat(os.Getpid())
	session, _ := unix.Getsid(0)
	if want := (ProcStat{os.Getpid(), os.Getppid(), unix.Getpgrp(), session, me.State}); !ok || me != want {
		t.Errorf("this process: %+v %v, want %+v", me, ok, want)
	}
	if _, ok := readStat(1 << 30); ok {
		t.Error("a process that is not there was read")
	}
}

// All processes of the machine are looked at when a worker has ended.
func TestReadStat_MakesNoGarbage(t *testing.T) {
	pid := os.Getpid()
	if n := testing.AllocsPerRun(100, func() { readStat(pid) }); n > 3 { // the path, twice
		t.Errorf("%v allocations", n)
	}
}

func TestChildren(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
		if slices.ContainsFunc(children(), func(p ProcStat) bool { return p.Pid == sleeper.Process.Pid }) {
			t.Error("a child that was waited for is listed")
		}
	}()
	for _, p := range children() {
		if p.PPid != os.Getpid() {
			t.Errorf("%+v is no child of %d", p, os.Getpid())
		}
		if p.Pid == sleeper.Process.Pid {
			return
		}
	}
	t.Error("the child is not listed")
}

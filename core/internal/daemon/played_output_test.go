package daemon_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestOutput_LinesReachTheDriver(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	a.Tell(`print before\n` + "\x1f" + `:name:task f\nhello\npart`)
	a.Tell("print ly done\\n")
	a.Tell(`eprint ` + "\r" + ` 10%` + "\r" + ` 20%\n`)
	if l := d.Line("before"); l.Name != "" || l.Pid != a.Pid || l.Stderr {
		t.Errorf("%+v", l)
	}
	if l := d.Line("hello"); l.Name != "task f" {
		t.Errorf("%+v", l)
	}
	d.Line("partly done")
	if l := d.Line(" 10%"); !l.Carriage || !l.Stderr {
		t.Errorf("%+v", l)
	}
	if l := d.Line(" 20%"); l.Carriage {
		t.Errorf("%+v", l)
	}
	// Text without an end of line is shown after a moment all the same.
	a.Tell("print no end")
	d.Line("no end")
	a.Tell(`print \n`)
	play.Eventually(t, "its file holds all of it", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("%s/logs/worker-%d.out", s.Dir, a.Pid))
		return string(b) == "before\n\x1f:name:task f\nhello\npartly done\nno end\n"
	})
}

func TestOutput_JobEnd_AnswersAfterTheLastLine(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	a := d.Lease()
	for i := range 2000 {
		a.Tell(fmt.Sprintf(`print line %d\n`, i))
	}
	a.Tell("print last words without an end")
	d.Call(wire.TJobEnd, nil, nil)
	logs := d.Logs()
	if n := len(logs); n != 2001 || logs[n-1].Text != "last words without an end" {
		t.Errorf("%d lines when the answer came", n)
	}
}

package system

import (
	"fmt"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/wire"
)

func TestOutput_LinesReachTheDriver(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	a.tell(`print before\n` + "\x1f" + `:name:task f\nhello\npart`)
	a.tell("print ly done\\n")
	a.tell(`eprint ` + "\r" + ` 10%` + "\r" + ` 20%\n`)
	if l := d.line("before"); l.Name != "" || l.Pid != a.Pid || l.Stderr {
		t.Errorf("%+v", l)
	}
	if l := d.line("hello"); l.Name != "task f" {
		t.Errorf("%+v", l)
	}
	d.line("partly done")
	if l := d.line(" 10%"); !l.Carriage || !l.Stderr {
		t.Errorf("%+v", l)
	}
	if l := d.line(" 20%"); l.Carriage {
		t.Errorf("%+v", l)
	}
	// Text without an end of line is shown after a moment all the same.
	a.tell("print no end")
	d.line("no end")
	a.tell(`print \n`)
	eventually(t, "its file holds all of it", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("%s/logs/worker-%d.out", s.dir, a.Pid))
		return string(b) == "before\n\x1f:name:task f\nhello\npartly done\nno end\n"
	})
}

func TestOutput_JobEnd_AnswersAfterTheLastLine(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	a := d.lease()
	for i := range 2000 {
		a.tell(fmt.Sprintf(`print line %d\n`, i))
	}
	a.tell("print last words without an end")
	d.call(wire.TJobEnd, nil, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.logs); n != 2001 || d.logs[n-1].Text != "last words without an end" {
		t.Errorf("%d lines when the answer came", n)
	}
}

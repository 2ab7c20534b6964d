package workers

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// piped is an output whose write ends the test has.
type piped struct {
	*Output
	t     *testing.T
	dir   string
	ends  [2]*os.File
	lines chan wire.LogLine
}

func openPiped(t *testing.T) *piped {
	t.Helper()
	p := &piped{t: t, dir: t.TempDir(), lines: make(chan wire.LogLine, 100)}
	sink := NewSink(func(ls []wire.LogLine) {
		for _, l := range ls {
			p.lines <- l
		}
	}, func() int { return 0 })
	t.Cleanup(sink.Close)
	o, stdout, stderr, err := OpenOutput(p.dir, sink, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	p.Output, p.ends = o, [2]*os.File{os.NewFile(uintptr(stdout), "stdout"), os.NewFile(uintptr(stderr), "stderr")}
	t.Cleanup(func() {
		p.ends[0].Close()
		p.ends[1].Close()
		over(t, o)
	})
	return p
}

// writes writes to stdout (0) or stderr (1).
func (p *piped) writes(i int, text string) {
	p.t.Helper()
	if _, err := p.ends[i].WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// next expects the next line of the driver.
func (p *piped) next(text string, stderr bool) {
	p.t.Helper()
	select {
	case l := <-p.lines:
		if l.Text != text || l.Stderr != stderr || l.Pid != 42 {
			p.t.Fatalf("got %+v, want %q, standard error %v", l, text, stderr)
		}
	case <-time.After(testLimit):
		p.t.Fatalf("line %q does not come", text)
	}
}

// What a worker writes reaches the driver in lines and the files as it is. An
// unfinished line that nothing follows is shown, and its rest comes later.
func TestOutput_Flow_FromThePipesToTheDriver(t *testing.T) {
	p := openPiped(t)
	p.writes(0, "early\n")
	holds(t, "what came before the process was known is kept", func() bool { return p.Tail() == "early" })
	p.SetPid(42)
	p.next("early", false)
	for i := range 3 {
		p.writes(0, fmt.Sprintf("Your name %d: ", i))
		p.next(fmt.Sprintf("Your name %d: ", i), false)
		p.writes(0, "Ann\nnext\n")
		p.next("Ann", false)
		p.next("next", false)
	}
	p.writes(1, "warned\n")
	p.next("warned", true)
	p.writes(1, "without an end")
	p.ends[1].Close()
	p.next("without an end", true)
	select {
	case <-p.Done():
		t.Fatal("it is over while a pipe is open")
	default:
	}
	p.ends[0].Close()
	over(t, p.Output)
	if got := logged(t, p.dir, "worker-42.err"); got != "warned\nwithout an end" {
		t.Errorf("the file of standard error has %q", got)
	}
	if got := logged(t, p.dir, "worker-42.out"); got != "early\nYour name 0: Ann\nnext\nYour name 1: Ann\nnext\nYour name 2: Ann\nnext\n" {
		t.Errorf("the file of standard output has %q", got)
	}
}

// Without a driver that wants lines the files are written all the same.
func TestOutput_NoSink_FilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	o, stdout, stderr, err := OpenOutput(dir, nil, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	o.SetPid(7)
	o.showPartial(0)
	for _, fd := range []int{stdout, stderr} {
		if _, err := unix.Write(fd, []byte("text")); err != nil {
			t.Error(err)
		}
		unix.Close(fd)
	}
	over(t, o)
	if out, errs := logged(t, dir, "worker-7.out"), logged(t, dir, "worker-7.err"); out != "text" || errs != "text" {
		t.Errorf("the files have %q and %q", out, errs)
	}
}

// Until a worker is ready all that it writes is kept for the reason of its
// failure. From then on only standard error is kept.
func TestOutput_SetReady_OnlyStandardErrorIsKept(t *testing.T) {
	o := &Output{pid: 42, dir: t.TempDir()}
	for i := range o.out {
		o.out[i].splitter.latest = &o.name
		o.out[i].full = true // no files
	}
	o.got(0, []byte("out\n"))
	o.got(1, []byte("err\n"))
	if got := o.Tail(); got != "out\nerr" {
		t.Errorf("before it is ready: %q", got)
	}
	o.SetReady()
	if got := o.Tail(); got != "" {
		t.Errorf("just ready: %q", got)
	}
	o.wrote = time.Time{}
	if o.got(0, []byte("more\n")); o.Tail() != "" || !o.wrote.IsZero() {
		t.Errorf("ready, after standard output: %q", o.Tail())
	}
	if !o.got(1, []byte("fau")) || o.got(1, []byte("lt\n")) {
		t.Error("whether a line is unfinished is told wrongly")
	}
	if got := o.Tail(); got != "fault" || time.Since(o.wrote) > testLimit {
		t.Errorf("ready, after standard error: %q at %v", got, o.wrote)
	}
	early := &Output{}
	if early.got(0, []byte("unfinished")) {
		t.Error("an unfinished line is to be shown before its process is known")
	}
}

// A report quotes at most the last 24 lines, and nothing that is older than three seconds.
func TestOutput_StderrTail_LatestLinesOnly(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	tailOf := func(text string, done chan struct{}, age time.Duration) string {
		o := &Output{done: done, wrote: time.Now().Add(-age)}
		o.tail.add([]byte(text))
		return o.StderrTail()
	}
	many := strings.Repeat("x\n", tailLines-1) + "last\n"
	for _, c := range []struct {
		text string
		done chan struct{}
		age  time.Duration
		want string
	}{
		{"fault\nmore\n", ended, 0, "fault\n  more"},
		{"fault\n", make(chan struct{}), 0, "fault"}, // a child of the worker still has the pipe
		{many, ended, 0, strings.Repeat("x\n  ", tailLines-1) + "last"},
		{"first\n" + many, ended, 0, strings.Repeat("x\n  ", tailLines-1) + "last"},
		{"fault\n", ended, tailAge, ""},
		{"", ended, 0, ""},
	} {
		if c.want != "" {
			c.want = "\nIt last wrote to standard error:\n  " + c.want
		}
		if got := tailOf(c.text, c.done, c.age); got != c.want {
			t.Errorf("%.20q of %v ago gives %q, want %q", c.text, c.age, got, c.want)
		}
	}
	if got := (*Output)(nil).StderrTail(); got != "" {
		t.Errorf("a worker without output wrote %q", got)
	}
}

// A read end does not block, the write end does, and programs inherit neither.
func TestNewPipe_Flags(t *testing.T) {
	p, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]int{p.r, p.w})
	for fd, nonblock := range map[int]bool{p.r: true, p.w: false} {
		status, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || status&unix.O_NONBLOCK != 0 != nonblock {
			t.Errorf("descriptor %d: status %x, %v", fd, status, err)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d: flags %x, %v", fd, flags, err)
		}
	}
}

// When descriptors are short and nobody wants the worker any more, the pipes of
// the worker are not made and nothing stays open.
func TestOpenOutput_NoDescriptors_NothingStaysOpen(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	dir, was := t.TempDir(), openNow()
	low := limit
	low.Cur = 3 // only the standard ones
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	o, _, _, err := OpenOutput(dir, nil, func() bool { return false })
	if back := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); back != nil {
		t.Fatal(back)
	}
	if err == nil || o != nil {
		t.Errorf("output %v, error %v", o, err)
	}
	if now := openNow(); now > was {
		t.Errorf("%d descriptors are open, before there were %d", now, was)
	}
}

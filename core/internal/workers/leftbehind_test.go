package workers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
)

// runs reports whether a process is there and does not only wait to be reaped.
func runs(pid int) bool {
	s, ok := readStat(pid)
	return ok && s.State != 'Z' && s.State != 'X'
}

// shell starts a script in a session of its own. The first line that the script
// writes is the process id of its child.
func shell(t *testing.T, script string, env ...string) (cmd *exec.Cmd, child int) {
	t.Helper()
	cmd = exec.Command("/bin/sh", "-c", script)
	cmd.Env, cmd.SysProcAttr = env, &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	t.Cleanup(func() {
		_ = unix.Kill(-pid, unix.SIGKILL)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscan(r, &child); err != nil {
		t.Fatal(err)
	}
	return cmd, child
}

// withChild is a script whose child sleeps with it.
const withChild = "/bin/sleep 600 & echo $!; wait"

// The process group of a dead worker is killed at once.
func TestOrphans_Sweep_KillsTheGroup(t *testing.T) {
	cmd, child := shell(t, withChild)
	o := NewOrphans()
	defer o.Close()
	o.Sweep(cmd.Process.Pid)
	holds(t, "the worker and its child have ended", func() bool { return !runs(cmd.Process.Pid) && !runs(child) })
}

// Two looks follow the end of workers, each for all workers that ended by then:
// an early one at the children and a later one at all processes.
func TestOrphans_Sweep_PlansTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one, two = 1<<22 + 1, 1<<22 + 2 // no process has such a number
		o := NewOrphans()
		planned := func(when string, soon, later int) {
			t.Helper()
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.soon.dead) != soon || len(o.later.dead) != later || (o.soon.timer != nil) != (soon > 0) || (o.later.timer != nil) != (later > 0) {
				t.Errorf("%s: the next looks are for %v and %v", when, o.soon.dead, o.later.dead)
			}
		}
		o.Sweep(one)
		o.Sweep(two)
		planned("at once", 2, 2)
		time.Sleep(sweepAfter - 1)
		synctest.Wait()
		planned("just before the early look", 2, 2)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		planned("after the early look", 0, 2)
		o.Sweep(one)
		planned("after another end", 1, 2)
		time.Sleep(againAfter - sweepAfter)
		synctest.Wait()
		planned("after the later look", 0, 0)
		o.Sweep(two)
		o.Close()
		o.mu.Lock()
		dead := len(o.soon.dead)
		o.mu.Unlock()
		o.Sweep(one)
		time.Sleep(2 * againAfter)
		synctest.Wait()
		planned("closed", dead, dead) // the looks were stopped, and no other was planned
	})
}

// Both looks take the list of processes when they begin, and pass on whose leaders are dead.
func TestOrphans_Plan_LooksWhenTheTimeIsOver(t *testing.T) {
	orphan := sleeper(t)
	synctest.Test(t, func(t *testing.T) {
		o := NewOrphans()
		var r round
		var looks atomic.Int32
		o.mu.Lock()
		for _, pid := range []int{7, 8} {
			o.plan(&r, pid, time.Minute, func() []ProcStat {
				looks.Add(1)
				return []ProcStat{{Pid: orphan, PPid: os.Getpid(), Session: 7}}
			})
		}
		o.mu.Unlock()
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if n := looks.Load(); n != 0 || !runs(orphan) {
			t.Errorf("%d looks before the time was over", n)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks, want 1", n)
		}
	})
	holds(t, "the orphan has ended", func() bool { return !runs(orphan) })
}

// What an ended job has left is killed with all that it started. Processes of other jobs and known ones live.
func TestOrphans_SweepJob_OnlyTheJobsUnknownProcesses(t *testing.T) {
	mine, other := ids.JobOf(123456), ids.JobOf(123457)
	left, child := shell(t, withChild, jobVar+"="+mine.String())
	known, knownChild := shell(t, withChild, jobVar+"="+mine.String())
	others, othersChild := shell(t, withChild, jobVar+"="+other.String())
	o := NewOrphans()
	defer o.Close()
	o.SweepJob(mine, map[int]bool{known.Process.Pid: true})
	holds(t, "what the job has left is killed", func() bool { return !runs(left.Process.Pid) && !runs(child) })
	for _, pid := range []int{known.Process.Pid, knownChild, others.Process.Pid, othersChild} {
		if !runs(pid) {
			t.Errorf("process %d was killed, which is another job's or known", pid)
		}
	}
}

// All below this process is killed. Without reaping, it is given up after the limit.
func TestKillDescendants_AllOrGivenUp(t *testing.T) {
	_, child := shell(t, withChild)
	cmd, _ := shell(t, withChild)
	killed := func() bool { return !runs(child) && !runs(cmd.Process.Pid) }
	if left := KillDescendants(testLimit, killed); left != 0 {
		t.Errorf("%d are left", left)
	}
	began := time.Now()
	limit := 20 * time.Millisecond
	if left := KillDescendants(limit, func() bool { return false }); left != 1 {
		t.Errorf("%d are left, want 1 that was not seen", left)
	}
	if took := time.Since(began); took < limit {
		t.Errorf("given up after %v of %v", took, limit)
	}
}

// A protected daemon remembers what it had.
func TestSpare_RemembersWhatItHad(t *testing.T) {
	own := func() string {
		b, err := os.ReadFile("/proc/self/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	had, was := own(), before
	defer func() {
		before = was
		setScore(os.Getpid(), had)
	}()
	// Whether this process may lower its score shows by trying.
	setScore(os.Getpid(), "-900")
	want := own()
	setScore(os.Getpid(), had)
	before = ""
	if Spare(); before != had || own() != want {
		t.Errorf("it had %s and remembers %s, it has %s and wants %s", had, before, own(), want)
	}
}

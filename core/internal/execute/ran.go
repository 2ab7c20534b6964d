package execute

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The process that has submitted a task remembers how the task ended. When that process has ended nobody would
// know of the task, so the process that has run it remembers it too.
//
// That is on every task's way. An entry for each task would be written to memory that no cache has any more, which
// costs more than 1 % of a short task. Tasks of one function mostly come one after the other, and their numbers are
// equally far apart. So an entry stands for a row of tasks, and a task that belongs to the latest row counts it up.

// keptRuns is how many rows of tasks that it has run a process remembers, and how many tasks it lists.
const keptRuns = 1024

// note remembers a task that was answered.
func (x *ranTasks) note(k *Call, flags int) {
	if k.Tmpl == nil || k.Actor != nil {
		return
	}
	x.addTime()
	failed := flags&(wire.ReplyAppError|wire.ReplyCancelled) != 0
	number := k.Task.Count()
	if x.n > 0 && x.at(x.n-1).takes(k.Tmpl, number, failed) {
		return
	}
	row := ranRow{first: k.Task, tmpl: k.Tmpl, last: number, n: 1, failed: failed}
	if len(x.ring) < keptRuns {
		x.ring = append(x.ring, row)
	} else {
		*x.at(x.n) = row
	}
	x.n++
}

// addTime makes room for the time of one more task.
func (x *ranTasks) addTime() {
	if len(x.times) < keptRuns {
		x.times = append(x.times, ranTime{})
	} else {
		x.times[x.tasks%keptRuns] = ranTime{}
	}
	x.tasks++
}

// timed notes when the task ran that was noted last.
func (x *ranTasks) timed(k *Call, took time.Duration) {
	if k.Tmpl != nil && k.Actor == nil {
		x.times[(x.tasks-1)%keptRuns] = ranTime{startedUs: k.started.UnixMicro(), tookUs: took.Microseconds()}
	}
}

func (x *ranTasks) at(number uint64) *ranRow { return &x.ring[number%keptRuns] }

// takes adds a task to the row if it belongs there.
func (r *ranRow) takes(tmpl *Template, number uint64, failed bool) bool {
	step := number - r.last // more than any step when the number is lower
	if r.tmpl != tmpl || r.failed != failed || step == 0 || step > math.MaxUint32 || r.n == math.MaxUint32 {
		return false
	}
	if r.n == 1 {
		r.step = uint32(step)
	} else if step != uint64(r.step) {
		return false
	}
	r.last = number
	r.n++
	return true
}

// each calls f with the latest tasks, the last one first, until it returns false.
func (x *ranTasks) each(f func(task ids.Task, tmpl *Template, failed bool, ran ranTime) bool) {
	left, number := keptRuns, x.tasks
	for i := range uint64(len(x.ring)) {
		r := x.at(x.n - 1 - i)
		for j := range uint64(r.n) {
			task := r.first
			binary.BigEndian.PutUint64(task[:], r.last-j*uint64(r.step))
			if left--; left < 0 {
				return
			}
			if number--; !f(task, r.tmpl, r.failed, x.times[number%keptRuns]) {
				return
			}
		}
	}
}

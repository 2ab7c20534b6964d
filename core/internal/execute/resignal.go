package execute

import "time"

// How often the program is told of a cancellation that it has not asked about.
const (
	resignalFirst = 10 * time.Millisecond
	resignalLast  = time.Second
)

// resignal repeats the interruption until the program has asked what was
// cancelled. One signal may go unnoticed: between the interpreter's last look for
// signals and the system call in which the task then waits.
func (w *Worker) resignal(wait time.Duration) {
	w.do.AfterFunc(wait, func() {
		if len(w.canceled) > 0 {
			w.do.InterruptProgram()
			w.resignal(min(2*wait, resignalLast))
		}
	})
}

package inquiry

import (
	"context"
	"time"
)

// Times of a program that connects.
const (
	// StartPatience is how long a program that connects waits for a head that does not answer. A head that its warden starts again
	// comes back within it, and the program has its answer within 10 s.
	StartPatience = 9 * time.Second
	silentEvery   = 200 * time.Millisecond // silent is asked so often after StartPatience
)

// WhileHeard returns a context for a program that connects. It ends with ctx, when done is called, and once the program has waited for
// StartPatience and silent says why the head does not answer: that error is its cause then. A nil silent never says so.
func WhileHeard(ctx context.Context, silent func() error) (heard context.Context, done context.CancelFunc) {
	heard, end := context.WithCancelCause(ctx)
	if silent != nil {
		go func() {
			for pause := StartPatience; ; pause = silentEvery {
				timer := time.NewTimer(pause)
				select {
				case <-timer.C:
				case <-heard.Done():
					timer.Stop()
					return
				}
				if err := silent(); err != nil {
					end(err)
					return
				}
			}
		}()
	}
	return heard, func() { end(nil) }
}

package workers

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/eagleray/eagleray/tests/await"
)

// A worker that has ended must not stay in memory until the timers that were set for it would have fired: with
// workers that come and go all the time those would be hundreds, each with its connection's buffers.
func TestWorker_Ended_NothingKeepsIt(t *testing.T) {
	tb, j := openTable(t)
	gone := func() weak.Pointer[Worker] {
		w, _, _ := ordered(tb, j)
		tb.mu.Lock()
		defer tb.mu.Unlock()
		w.peer = silent(t)
		tb.setDeadline(w)
		tb.End(w, time.Hour)
		tb.ExpectEnd(w, time.Hour)
		tb.EndDisconnected(w)
		tb.remove(w)
		w.peer.Close() // as its owner does with the connection of a worker that is gone
		w.peer = nil   // the test holds the connection
		tb.dropZygote(w.zygote)
		return weak.Make(w)
	}()
	// Every timer fires later than that, so a timer that nobody stopped still holds the worker then.
	await.Within(t, forkTimeout*2/3, "nothing refers to the worker", func() bool {
		// Go keeps a stopped timer on its processor until that has to do with timers again.
		for range runtime.GOMAXPROCS(0) {
			go time.Sleep(time.Microsecond)
		}
		runtime.GC()
		return gone.Value() == nil
	})
}

package executor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An actor that may restart notes for each caller which of its calls it has
// begun, on a page that the daemon reads when this process is gone, see package execute.

// askPage tells the daemon that this actor is about to begin: a worker that
// dies earlier costs it nothing. One that may restart gets the page. Without
// it, calls that were sent count as started when this process dies.
func (x *Executor) askPage(restarts bool) *progress.Writer {
	u, _, fd, err := wire.Dial(x.socket, wire.Hello{Version: wire.Version, Role: wire.RoleProgress, OwnerID: x.self[:]})
	if err == nil {
		u.Close()
		if fd < 0 {
			return nil // it may not restart
		}
		defer unix.Close(fd)
		var w *progress.Writer
		if w, err = progress.OpenActorPage(fd); err == nil {
			return w
		}
	}
	if !restarts {
		return nil
	}
	fmt.Fprintf(os.Stderr, "eagleray: this actor cannot note which calls it begins: %v\n", err)
	return nil
}

// actorPage is askPage for callers that hold the mutex, which is released meanwhile.
func (x *Executor) actorPage(restarts bool) *progress.Writer {
	x.mu.Unlock()
	defer x.mu.Lock()
	return x.askPage(restarts)
}

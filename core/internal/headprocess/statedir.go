package headprocess

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
)

// StateDir is the folder in which a head keeps the state of its cluster.
type StateDir struct {
	Path string `json:"path,omitempty"` // empty: in the session's folder, which it does not outlive
	From string `json:"from,omitempty"` // the flag or the variable that names it
}

// Folder returns the folder, which is in that of the session if none is given.
func (s *StateDir) Folder(session string) string {
	if s.Path == "" {
		return filepath.Join(session, process.HeadState)
	}
	return s.Path
}

// open opens the folder. Another head may have it, or it may be damaged: see raftlog.Open.
func (s *StateDir) open(session string, log *slog.Logger) (*raftlog.Dir, error) {
	d, err := raftlog.Open(s.Folder(session), raftlog.Options{Log: log})
	if err == nil {
		return d, nil
	}
	if s.Path != "" {
		err = fmt.Errorf("%s: %w", s.From, err)
	}
	if errors.Is(err, raftlog.ErrDamaged) {
		return nil, fmt.Errorf("%w. %s", err, afterDamage)
	}
	if s.Path == "" {
		return nil, err
	}
	return nil, process.NewBadConfig(err)
}

// afterDamage says what to do with a damaged folder.
const afterDamage = "This head does not start, because it would forget what it has acknowledged. If the cluster has other heads, nothing is lost: end this node with `eagleray stop`, " +
	"give this head up with `eagleray heads remove` on another machine, move the folder away, and let this machine join as a new head with `eagleray start --head --address`. " +
	"If this is the only head, put back a copy of the folder"

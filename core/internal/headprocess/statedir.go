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
	if s.Path == "" {
		return raftlog.Open(s.Folder(session), raftlog.Options{Log: log})
	}
	d, err := raftlog.Open(s.Path, raftlog.Options{Log: log})
	if err == nil {
		return d, nil
	}
	err = fmt.Errorf("%s: %w", s.From, err)
	if errors.Is(err, raftlog.ErrDamaged) {
		return nil, err
	}
	return nil, process.NewBadConfig(err)
}

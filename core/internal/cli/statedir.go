package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/raftlog"
)

// stateFlag names the folder of a cluster's state.
const stateFlag = "--state-dir"

// storagePathVar, with one of Ray's prefixes, says the same as the flag.
const storagePathVar = "gcs_storage_path"

// stateDir is the folder in which a head keeps the state of its cluster.
type stateDir struct {
	Path string `json:"path,omitempty"` // empty: in the session's folder, which it does not outlive
	From string `json:"from,omitempty"` // the flag or the variable that names it
}

// stateDirOf returns what the flag says, else what the variable says.
func stateDirOf(flags map[string]string) (s stateDir, err error) {
	path, given := flags[stateFlag]
	s.From = stateFlag
	for _, prefix := range []string{"EAGLERAY_", "RAY_"} {
		if !given {
			path, s.From = os.Getenv(prefix+storagePathVar), prefix+storagePathVar
			given = path != ""
		}
	}
	if !given {
		return stateDir{}, nil
	}
	if s.Path, err = filepath.Abs(path); err != nil {
		return s, fmt.Errorf("%s: %w", s.From, err)
	}
	return s, nil
}

// open opens the folder. Another head may have it, or it may be damaged: see raftlog.Open.
func (s *stateDir) open(session string, log *slog.Logger) (*raftlog.Dir, error) {
	if s.Path == "" {
		return raftlog.Open(filepath.Join(session, stateName), raftlog.Options{Log: log})
	}
	d, err := raftlog.Open(s.Path, raftlog.Options{Log: log})
	if err == nil {
		return d, nil
	}
	err = fmt.Errorf("%s: %w", s.From, err)
	if errors.Is(err, raftlog.ErrDamaged) {
		return nil, err
	}
	return nil, &badConfig{err}
}

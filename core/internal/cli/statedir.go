package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/headprocess"
)

// stateFlag names the folder of a cluster's state.
const stateFlag = "--state-dir"

// storagePathVar, with one of Ray's prefixes, says the same as the flag.
const storagePathVar = "gcs_storage_path"

// stateDirOf returns what the flag says, else what the variable says.
func stateDirOf(flags map[string]string) (s headprocess.StateDir, err error) {
	path, given := flags[stateFlag]
	s.From = stateFlag
	for _, prefix := range []string{"EAGLERAY_", "RAY_"} {
		if !given {
			path, s.From = os.Getenv(prefix+storagePathVar), prefix+storagePathVar
			given = path != ""
		}
	}
	if !given {
		return headprocess.StateDir{}, nil
	}
	if s.Path, err = filepath.Abs(path); err != nil {
		return s, fmt.Errorf("%s: %w", s.From, err)
	}
	return s, nil
}

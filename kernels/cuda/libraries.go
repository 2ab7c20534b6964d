//go:build cuda && cgo

package cuda

import (
	"os"
	"path/filepath"
	"sync"
)

var search struct {
	sync.Mutex
	folders []string
}

// SearchPath names folders where NVIDIA's wheels may be installed, such as
// Python's site-packages, for libraries that the loader does not find.
func SearchPath(folders ...string) {
	search.Lock()
	defer search.Unlock()
	search.folders = append(search.folders, folders...)
}

// searched returns the folders that SearchPath has named.
func searched() []string {
	search.Lock()
	defer search.Unlock()
	return append([]string(nil), search.folders...)
}

// candidates are the paths to try for a library: the one that the environment
// variable names and no other, or the loader's, then those of NVIDIA's wheels.
func candidates(variable, library, wheel string) []string {
	if path := os.Getenv(variable); path != "" {
		return []string{path}
	}
	folders := searched()
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		more, _ := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
		folders = append(folders, more...)
	}
	paths := []string{library}
	for _, f := range folders {
		path := filepath.Join(f, "nvidia", wheel, "lib", library)
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

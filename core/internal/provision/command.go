package provision

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// findProgram returns a command whose first word is an absolute path. A relative path is in the working directory; a name without a slash is looked for as a shell does.
func findProgram(command []string, cwd string, env []string) ([]string, error) {
	first := command[0]
	var places []string
	switch {
	case filepath.IsAbs(first):
		places = []string{first}
	case strings.Contains(first, "/"):
		places = []string{filepath.Join(cwd, first)}
	default:
		for _, folder := range filepath.SplitList(variable(env, "PATH")) {
			if filepath.IsAbs(folder) {
				places = append(places, filepath.Join(folder, first))
			}
		}
	}
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return append([]string{place}, command[1:]...), nil
		}
	}
	if strings.Contains(first, "/") {
		return nil, fmt.Errorf("%s is no program on this node", places[0])
	}
	return nil, fmt.Errorf("this node has no program %s in PATH=%s", first, variable(env, "PATH"))
}

// variable returns the value of a variable, which is the last one with that name.
func variable(env []string, name string) (value string) {
	for _, text := range env {
		if rest, ok := strings.CutPrefix(text, name+"="); ok {
			value = rest
		}
	}
	return value
}

// workingDir returns the working directory of an environment on this node, from what was made so far.
func workingDir(e *wire.EnvSpec, answers []json.RawMessage) string {
	for i, raw := range answers {
		var made struct {
			Folder string `json:"folder"`
		}
		if e.Needs[i].Field == wire.NeedWorkingDir && json.Unmarshal(raw, &made) == nil && made.Folder != "" {
			return made.Folder
		}
	}
	return e.Cwd
}

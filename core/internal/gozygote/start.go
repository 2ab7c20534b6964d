package gozygote

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// channel is the descriptor on which a zygote finds its socket, and a worker its Start.
const channel = 3

// maxStart bounds a setup and a Start. Variables have up to 8 MiB; see python/eagleray/_private/calls/environments.py.
const maxStart = 64 << 20

// Roles of a process of the program, as wire.GoWorkerVar names them. A process without the variable was started by a person.
const (
	RoleZygote = "zygote"
	RoleWorker = "worker"
)

// Role returns what this process was started as, "" for a process that no daemon has started. Programs that this process starts do not
// inherit it.
func Role() string {
	role := os.Getenv(wire.GoWorkerVar)
	os.Unsetenv(wire.GoWorkerVar)
	if role != RoleZygote && role != RoleWorker {
		return ""
	}
	return role
}

// Name gives this process a name, as `ps -o comm` and top show it. The command line stays that of the program.
func Name(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // a process without a name works as well
}

// Setup is what the daemon tells a zygote of its environment.
type Setup struct {
	Preload []string          `json:"preload"`
	SysPath []string          `json:"sys_path"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
	Bare    bool              `json:"bare"`
	NodeEnv map[string]string `json:"node_env"`

	Packages []wire.Package `json:"packages"`
}

// Start is what a worker is told by its zygote.
type Start struct {
	Sock   string            `json:"sock"` // the daemon's
	Token  string            `json:"token"`
	Setup  Setup             `json:"setup"`
	JobEnv map[string]string `json:"job_env"` // the variables of the driver
}

// ReadStart reads what the zygote has left for this worker.
func ReadStart() (s Start, err error) {
	f := os.NewFile(channel, "start")
	if f == nil {
		return s, fmt.Errorf("descriptor %d is not open", channel)
	}
	defer f.Close()
	b, err := readAll(f)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("what the zygote said: %w", err)
	}
	return s, nil
}

// readAll reads a memfd from its beginning.
func readAll(f *os.File) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", f.Fd(), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxStart+1))
	if err == nil && len(b) > maxStart {
		err = fmt.Errorf("it has more than %d bytes", maxStart)
	}
	return b, err
}

// The variables that a Python driver adds for the start of a Python zygote; see python/eagleray/_private/calls/environments.py.
const (
	addedVar      = "EAGLERAY_ZYGOTE_ADDED"
	pythonPathVar = "EAGLERAY_DRIVER_PYTHONPATH"
)

// seen returns the variables of a worker: the zygote's own without those that were added for a Python zygote, then the node's, then the
// environment's.
func seen(own map[string]string, s *Setup) map[string]string {
	all := maps.Clone(own)
	for _, name := range strings.Split(all[addedVar], ",") {
		delete(all, name)
	}
	if text, ok := all[pythonPathVar]; ok {
		delete(all, "PYTHONPATH")
		if path, set := strings.CutPrefix(text, "="); set {
			all["PYTHONPATH"] = path
		}
	}
	delete(all, addedVar)
	delete(all, pythonPathVar)
	maps.Copy(all, s.NodeEnv)
	maps.Copy(all, s.Env)
	return all
}

// variables returns a program's environment as a map.
func variables(list []string) map[string]string {
	all := make(map[string]string, len(list))
	for _, kv := range list {
		if k, v, ok := strings.Cut(kv, "="); ok {
			all[k] = v
		}
	}
	return all
}

package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// RuntimeEnv is the environment of the workers of a function or an actor, in addition to the session's environment.
type RuntimeEnv struct {
	EnvVars    map[string]string // variables
	WorkingDir string            // a folder of this machine: their working directory, and where modules are looked for first
	PyModules  []string          // folders or files of this machine that can be imported
	Excludes   []string          // what of these is not copied to other nodes, with the syntax of .gitignore
}

// What a worker finds in its environment about itself, see python/eagleray/_private/calls/environments.py.
const (
	envKeyVariable  = "EAGLERAY_ENV_KEY"
	userEnvVariable = "EAGLERAY_RUNTIME_ENV"
)

// readAtImport are the prefixes of variables that libraries read when they are imported. A process
// that has imported such a library already would not see a new value. environments.py has the same list.
var readAtImport = []string{"NUMBA_", "OMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "KMP_", "NUMEXPR_", "VECLIB_", "NPY_", "PYTHON"}

// env returns the environment of the session's workers. If the program names no interpreter, they run that of their
// node's daemon: another python3 on this program's PATH may not have eagleray, and may not be on other nodes.
func (o *Options) env() (e wire.EnvSpec, err error) {
	e.Python = o.Python
	if e.Python == "" {
		e.Python = os.Getenv("EAGLERAY_PYTHON")
	}
	if e.Python == "" {
		e.Python = activated()
	}
	if strings.ContainsRune(e.Python, filepath.Separator) {
		if e.Python, err = filepath.Abs(e.Python); err != nil {
			return e, fmt.Errorf("the workers' Python: %w", err)
		}
	}
	if e.Cwd, err = os.Getwd(); err != nil {
		return e, fmt.Errorf("the workers' folder: %w", err)
	}
	e.JobEnv = map[string]string{}
	for _, kv := range environ.Public() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			e.JobEnv[k] = v
		}
	}
	ahead(&e, o.PythonPath)
	seal(&e, o.Env, nil)
	return e, nil
}

// activated returns the interpreter of the virtual environment that is activated in this program's environment; "" if there is none.
func activated() string {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := os.Getenv(name); dir != "" {
			if path, err := exec.LookPath(filepath.Join(dir, "bin", "python3")); err == nil {
				return path
			}
		}
	}
	return ""
}

// ahead makes workers look for modules in these folders first.
func ahead(e *wire.EnvSpec, folders []string) {
	if len(folders) == 0 {
		return
	}
	path := slices.Clone(folders)
	if p := e.JobEnv["PYTHONPATH"]; p != "" {
		path = append(path, p)
	}
	e.JobEnv["PYTHONPATH"] = strings.Join(path, string(os.PathListSeparator))
}

// seal sets an environment's variables, and its key, which is a hash of its contents.
func seal(e *wire.EnvSpec, variables map[string]string, told []byte) {
	e.Env = maps.Clone(variables)
	if e.Env == nil {
		e.Env = map[string]string{}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v %v", e.Python, e.Cwd, e.JobEnv["PYTHONPATH"], e.Bare, e.Env)
	for _, p := range e.Packages {
		fmt.Fprintf(h, " %q %v %q", p.Path, p.Module, p.Excludes)
	}
	e.Key = hex.EncodeToString(h.Sum(nil)[:12])
	e.Env[envKeyVariable] = e.Key
	if len(told) > 0 {
		e.Env[userEnvVariable] = string(told)
	}
}

// envOf returns the key of an environment, which the daemon has been told of.
func (s *Session) envOf(r *RuntimeEnv) (string, error) {
	if r == nil || len(r.EnvVars) == 0 && r.WorkingDir == "" && len(r.PyModules) == 0 {
		return s.env.Key, s.define(s.env)
	}
	e, err := r.derive(s.env)
	if err != nil {
		return "", err
	}
	return e.Key, s.define(e)
}

// define tells the daemon of an environment, once.
func (s *Session) define(e wire.EnvSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.envs[e.Key] {
		return nil
	}
	if err := s.c.DefineEnv(e); err != nil {
		return err
	}
	s.envs[e.Key] = true
	return nil
}

// derive returns the session's environment with what the runtime environment changes.
func (r *RuntimeEnv) derive(e wire.EnvSpec) (wire.EnvSpec, error) {
	variables := maps.Clone(e.Env)
	delete(variables, envKeyVariable)
	e.JobEnv = maps.Clone(e.JobEnv)
	for name, text := range r.EnvVars {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(text, 0) {
			return e, invalid("RuntimeEnv.EnvVars: %q=%q is no environment variable", name, text)
		}
		variables[name] = text
		for _, prefix := range readAtImport {
			e.Bare = e.Bare || strings.HasPrefix(name, prefix) && e.JobEnv[name] != text
		}
	}
	told := map[string]any{}
	if len(r.EnvVars) > 0 {
		told["env_vars"] = r.EnvVars
	}
	var folders []string
	for _, m := range r.PyModules {
		path, err := filepath.Abs(m)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return e, invalid("RuntimeEnv.PyModules: %q must be a folder or file of this machine: %v", m, err)
		}
		folders = append(folders, filepath.Dir(path))
		e.Packages = append(slices.Clip(e.Packages), wire.Package{Path: path, Module: true, Excludes: r.Excludes})
		told["py_modules"] = r.PyModules
	}
	if r.WorkingDir != "" {
		path, err := filepath.Abs(r.WorkingDir)
		if err == nil {
			var st os.FileInfo
			if st, err = os.Stat(path); err == nil && !st.IsDir() {
				err = fmt.Errorf("it is a file")
			}
		}
		if err != nil {
			return e, invalid("RuntimeEnv.WorkingDir: %q must be a folder of this machine: %v", r.WorkingDir, err)
		}
		e.Cwd = path
		e.Packages = append(slices.Clip(e.Packages), wire.Package{Path: path, Excludes: r.Excludes})
		folders = append(folders, path)
		told["working_dir"] = path
	}
	ahead(&e, folders)
	text, err := json.Marshal(told)
	if err != nil {
		return e, fmt.Errorf("describe a runtime environment: %w", err)
	}
	seal(&e, variables, text)
	return e, nil
}

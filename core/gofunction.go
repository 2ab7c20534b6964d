package core

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/gozygote"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Functions and actors that a Go program has registered with package core/worker. The environment of their workers names the program.

// What a Go worker finds in its environment, beside the variables of every worker.
const (
	goPythonVariable = "EAGLERAY_GO_PYTHON" // the interpreter of the Python functions that it calls
	goBuildVariable  = "EAGLERAY_GO_BUILD"  // tells a program from the one that was at its path before
)

// ownVariables are for the worker itself, and not for the user's code or for what it starts.
var ownVariables = []string{envKeyVariable, userEnvVariable, goPythonVariable, goBuildVariable, wire.GoWorkerVar}

// language says how functions and classes are named, and which workers run them.
type language struct {
	code  func(name string) (fid, blob []byte, err error)
	check func(o *Call, name string) error
	env   func(s *Session, o *Call) (string, error)
	// describe returns what handles in Python know of an actor.
	describe func(class string, o *Call) []byte
}

var (
	python = &language{code: byPath, check: checkPython, env: func(s *Session, o *Call) (string, error) { return s.envOf(o.RuntimeEnv) },
		describe: func(string, *Call) []byte { return nil }}
	golang = &language{code: byGoName, check: checkGo, env: (*Session).goEnvOf, describe: describeGo}
)

// describeGo is as describe_unknown in python/eagleray/_private/calls/actor_kind.py.
func describeGo(class string, o *Call) []byte {
	none, pending := map[string]any{}, -1
	if o.MaxPendingCalls > 0 {
		pending = o.MaxPendingCalls
	}
	b, err := msgpack.Marshal(map[string]any{
		"name": class, "pending": pending, "retries": o.MaxTaskRetries, "any": true, "unordered": o.MaxConcurrency > 1, "shared_limit": 0, "generators": []string{}, "groups": none,
		"methods": map[string]any{
			"__ray_ready__": []any{none, []any{}}, "__ray_terminate__": []any{none, []any{}},
			"__ray_call__": []any{none, []any{[]any{"fn", 0, false}, []any{"args", 2, false}, []any{"kwargs", 4, false}}},
		},
	})
	if err != nil { // texts and numbers are always encoded
		panic("core: describe an actor: " + err.Error())
	}
	return b
}

func checkPython(o *Call, name string) error {
	if o.GoWorker != "" {
		return invalid("%s: GoWorker is for GoFunction and NewGoActor, and this is a Python function or class", name)
	}
	return nil
}

func checkGo(o *Call, name string) error {
	if o.MaxCalls == OnLeak {
		return invalid("%s: MaxCalls: OnLeak needs a worker that can measure the memory of its devices, and a Go worker cannot: give a number, or Unlimited", name)
	}
	if o.RuntimeEnv != nil && len(o.RuntimeEnv.PyModules) > 0 {
		return invalid("%s: RuntimeEnv.PyModules are for Python, and this is registered by a Go worker program", name)
	}
	return nil
}

// byGoName returns the function id and bytes of what a Go worker program has registered.
func byGoName(name string) (fid, blob []byte, err error) {
	if name == "" || len(name) > wire.MaxGoName {
		return nil, nil, invalid("the name of a Go function or actor has from 1 to %d bytes, and this one has %d", wire.MaxGoName, len(name))
	}
	blob = []byte(wire.GoCodePrefix + name)
	h := sha256.Sum256(blob)
	return h[:16], blob, nil
}

// GoFunction names a function that a Go worker program has registered (package core/worker). Call.GoWorker or Options.GoWorker is the path
// of the program, which is brought to other nodes when they need it; a worker's own program is the default in a worker. Nothing is sent
// yet: if the program has no such function, its calls return an error.
func (s *Session) GoFunction(name string, o Call) (*Function, error) {
	return s.function(golang, name, o)
}

// NewGoActor creates an actor that a Go worker program has registered (package core/worker). All else is as in NewActor and GoFunction.
func (s *Session) NewGoActor(ctx context.Context, name string, o Call, args ...any) (*Actor, error) {
	return s.newActor(ctx, golang, name, o, args)
}

// goEnvOf returns the key of the environment of a Go worker program, which the daemon has been told of.
func (s *Session) goEnvOf(o *Call) (string, error) {
	program := o.GoWorker
	if program == "" {
		if s.programKey != "" && o.RuntimeEnv == nil {
			return s.programKey, nil
		}
		program = s.program
	}
	if program == "" {
		return "", invalid("which program has registered it? Give its path as Call.GoWorker, or as Options.GoWorker for all calls of the session")
	}
	e := s.env
	var err error
	if r := o.RuntimeEnv; r != nil {
		if e, err = r.derive(e); err != nil {
			return "", err
		}
	}
	if e, err = goEnv(e, program); err != nil {
		return "", err
	}
	return e.Key, s.define(e)
}

// goEnv returns an environment whose workers are processes of a Go program.
func goEnv(e wire.EnvSpec, program string) (wire.EnvSpec, error) {
	path, err := programPath(program)
	if err != nil {
		return e, invalid("the Go worker program %q: %v", program, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return e, invalid("the Go worker program: %v", err)
	}
	variables, told := maps.Clone(e.Env), []byte(e.Env[userEnvVariable])
	delete(variables, envKeyVariable)
	delete(variables, userEnvVariable)
	variables[wire.GoWorkerVar] = gozygote.RoleZygote
	variables[goPythonVariable] = e.Python
	variables[goBuildVariable] = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	e.Python, e.Preload = path, nil
	e.Packages = append(slices.Clip(e.Packages), wire.Package{Path: path, Module: true, NoGitignore: true})
	seal(&e, variables, told)
	return e, nil
}

// programPath returns the absolute path of a program of this machine, without symbolic links: what is copied to other nodes is the program.
func programPath(program string) (string, error) {
	if !strings.ContainsRune(program, filepath.Separator) {
		found, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("there is none of that name in the folders of PATH; give its path")
		}
		program = found
	}
	path, err := filepath.Abs(program)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", path)
	case info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable", path)
	}
	return path, nil
}

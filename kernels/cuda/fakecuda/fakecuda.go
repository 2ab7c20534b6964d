package fakecuda

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Build builds the libraries, unless they are there, and gives the environment
// variables that make a process load them.
func Build() ([]string, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("the source of fakecuda cannot be found")
	}
	here = filepath.Dir(here)
	python := os.Getenv("EAGLERAY_PYTHON")
	if python == "" {
		python = "python3"
	}
	folder := filepath.Join(here, "..", "..", "..", "build", "cuda", "fake")
	cmd := exec.Command(python, filepath.Join(here, "src", "build.py"), folder)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("building the stand-in for the CUDA driver: %w\n%s", err, log.String())
	}
	return strings.Fields(string(out)), nil
}

// Use builds the libraries and makes this process load them. It has to come
// before the driver is used for the first time.
func Use() error {
	env, err := Build()
	if err != nil {
		return err
	}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

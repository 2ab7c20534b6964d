package core

import (
	"os"
	"path/filepath"
	"testing"
)

// Workers of a program that names no interpreter run that of the activated virtual environment, or else that of their node: another python3
// on the program's PATH is not asked.
func TestOptions_Interpreter_IsTheNamedOneThenTheActivatedOne(t *testing.T) {
	venv := t.TempDir()
	activated := filepath.Join(venv, "bin", "python3")
	for _, path := range []string{activated, filepath.Join(venv, "other", "python3")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ named, variable, venv, conda, want string }{
		{"/named/python", "/variable/python", venv, "", "/named/python"},
		{"", "/variable/python", venv, "", "/variable/python"},
		{"", "", venv, "", activated},
		{"", "", "", venv, activated},
		{"", "", filepath.Join(venv, "gone"), "", ""},
		{"", "", "", "", ""},
	} {
		t.Setenv("PATH", filepath.Join(venv, "other"))
		t.Setenv("EAGLERAY_PYTHON", c.variable)
		t.Setenv("VIRTUAL_ENV", c.venv)
		t.Setenv("CONDA_PREFIX", c.conda)
		e, err := (&Options{Python: c.named}).env()
		if err != nil || e.Python != c.want {
			t.Errorf("%+v: %q, %v", c, e.Python, err)
		}
	}
}

// The token of the cluster in the program's environment is not for its workers, which may run anywhere.
func TestOptions_TokenInTheEnvironment_IsNotForWorkers(t *testing.T) {
	t.Setenv("RAY_AUTH_TOKEN", "secret")
	t.Setenv("OF_THE_PROGRAM", "1")
	e, err := (&Options{}).env()
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := e.JobEnv["RAY_AUTH_TOKEN"]; ok || e.JobEnv["OF_THE_PROGRAM"] != "1" {
		t.Errorf("workers get the token %q, and %q", text, e.JobEnv["OF_THE_PROGRAM"])
	}
}

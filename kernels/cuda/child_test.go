//go:build cuda && cgo

package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Children are programs that tests run in processes of their own, because the
// driver starts once in each. They print what they find.
var children = map[string]func(){}

const childVariable = "EAGLERAY_CUDA_TEST_CHILD"

// child runs one with further environment variables and gives what it prints.
func child(t *testing.T, name string, env ...string) string {
	t.Helper()
	cmd := childCommand(t, name, env...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out.String(), log.String())
	}
	return strings.TrimSpace(out.String())
}

func childCommand(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	if realGPU {
		t.Skip("needs the stand-in for the driver")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childVariable+"="+name, "GORACE=atexit_sleep_ms=0"), env...)
	return cmd
}

// driverWithout links the stand-in for the driver without some functions.
func driverWithout(t *testing.T, functions ...string) string {
	t.Helper()
	folder, built := t.TempDir(), filepath.Dir(os.Getenv("EAGLERAY_LIBCUDA"))
	script := "{ local: " + strings.Join(functions, "; ") + "; };\n"
	must(t, os.WriteFile(filepath.Join(folder, "map"), []byte(script), 0o600))
	args := []string{"-shared", "-Wl,--version-script=" + filepath.Join(folder, "map"), "-o", filepath.Join(folder, "libcuda.so.1")}
	for _, part := range []string{"device.o", "memory.o", "launch.o"} {
		args = append(args, filepath.Join(built, part))
	}
	if out, err := exec.Command("g++", append(args, "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	return "EAGLERAY_LIBCUDA=" + filepath.Join(folder, "libcuda.so.1")
}

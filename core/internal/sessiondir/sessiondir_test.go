package sessiondir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SESSIONDIR_LOG_TO"); dir != "" { // see TestLogTo_OutputGoesToTheSession
		if err := LogTo(dir, LogName); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("said")
		fmt.Fprintln(os.Stderr, "warned")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSessionDir_IsFreshAndPrivate(t *testing.T) {
	base := filepath.Join(t.TempDir(), "b")
	one, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	two, err := New(base)
	if err != nil || one == two || filepath.Dir(one) != base || !strings.HasPrefix(filepath.Base(one), "s-") {
		t.Errorf("got %s and %s, %v", one, two, err)
	}
	if st, err := os.Stat(base); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := os.MkdirAll(one, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := Lock(one)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Lock(one); err == nil {
		again.Close()
		t.Error("a session is locked twice")
	}
	SweepStale(base)
	if _, err := os.Stat(one); err != nil {
		t.Error("a session that is in use is swept away")
	}
	lock.Close()
	SweepStale(base)
	if _, err := os.Stat(one); err == nil {
		t.Error("a session that nobody uses is left")
	}
}

// What a daemon of its own writes goes to a file of its session, behind what was there.
func TestLogTo_OutputGoesToTheSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	for range 2 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "SESSIONDIR_LOG_TO="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%q, %v", out, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, LogName)); string(b) != "said\nwarned\nsaid\nwarned\n" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := LogTo(filepath.Join(file, "s"), LogName); err == nil {
		t.Error("a file is taken for a folder")
	}
	if _, err := New(filepath.Join(file, "s")); err == nil {
		t.Error("a session begins in a file")
	}
}

package userdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBase_VariablesNameTheFolder(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", "")
	t.Setenv("RAY_TMPDIR", "/ray")
	if got := Base(); !strings.HasPrefix(got, "/ray/eagleray-") {
		t.Errorf("got %s", got)
	}
	t.Setenv("EAGLERAY_TMPDIR", "/ours")
	if got := Base(); !strings.HasPrefix(got, "/ours/eagleray-") || got != In("/ours") {
		t.Errorf("got %s", got)
	}
}

func TestMake_FolderIsFresh_IsPrivate(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a", "b")
	if err := Check(base); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	for range 2 {
		if err := Make(base); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(base); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestCheck_OthersMayLook_IsClosedToThem(t *testing.T) {
	base := filepath.Join(t.TempDir(), "b")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Check(base); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(base); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestCheck_FolderIsNotOwn_IsRefusedWithTheReason(t *testing.T) {
	dir := t.TempDir()
	own, link, file, open, other := filepath.Join(dir, "own"), filepath.Join(dir, "link"), filepath.Join(dir, "file"), filepath.Join(dir, "open"), filepath.Join(dir, "other")
	for _, d := range []string{own, open, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(own, link), os.WriteFile(file, nil, 0o600), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{link: "a symbolic link", file: "a file", open: "mode 0777"}
	if os.Getuid() == 0 { // nobody else may give a folder away
		if err := os.Chown(other, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refused[other] = "belongs to user 65534"
	}
	for base, want := range refused {
		for name, check := range map[string]func(string) error{"Check": Check, "Make": Make} {
			if err := check(base); !errors.Is(err, ErrNotOwn) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), base) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	if err := Check(own); err != nil {
		t.Error(err)
	}
}

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/tests/otheruser"
)

// What another user has put where this user's sessions should be is believed by no command.
func TestCommands_FolderOfAnotherUser_IsNotBelieved(t *testing.T) {
	m := newHost(t)
	dir := filepath.Join(m.base(), "s-evil")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	otheruser.Listen(t, filepath.Join(dir, "d.sock"))
	err := errors.Join(os.WriteFile(currentFile(m.base()), []byte(dir+"\n"), 0o600), os.WriteFile(filepath.Join(dir, "heads"), []byte("127.0.0.1:6379\n"), 0o600),
		os.Chown(m.base(), otheruser.UID, otheruser.UID))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"status"}, {"status", "--address=127.0.0.1:6379"}, {"stop"}, {"clean"}, {"health-check"}, {"heads", "list"}, {"token", "status"}, small("--head", "--port=0"),
		{symmetricName, "--address=127.0.0.1:6379", "--", "true"},
	} {
		if status, text := m.run(args...); status == 0 || !strings.Contains(text, "belongs to user 65534") || !strings.Contains(text, m.base()) {
			t.Errorf("%v: status %d, %s", args, status, text)
		}
	}
	if status, text := m.run("status", "--address="+dir); status == 0 || !strings.Contains(text, "uid 65534") {
		t.Errorf("its session by name: status %d, %s", status, text)
	}
}

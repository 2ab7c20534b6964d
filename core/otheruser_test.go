package core

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/tests/otheruser"
)

// madeByOther makes what another user could have made before this user's first session: the folder of this user's sessions, and in it
// a session with a socket and the file that says which session is current.
func madeByOther(t *testing.T) (dir string, told func()) {
	t.Helper()
	tmp, err := os.MkdirTemp("/tmp", "er") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("EAGLERAY_TMPDIR", tmp)
	base := filepath.Join(tmp, "eagleray-"+strconv.Itoa(os.Getuid()))
	dir = filepath.Join(base, "s-evil")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := otheruser.Listen(t, filepath.Join(dir, "d.sock"))
	err = errors.Join(os.WriteFile(filepath.Join(base, "current"), []byte(dir+"\n"), 0o600), os.WriteFile(filepath.Join(dir, "heads"), []byte("127.0.0.1:6379\n"), 0o600),
		os.Chown(base, otheruser.UID, otheruser.UID))
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { otheruser.HearsNothing(t, l) }
}

// A folder of sessions that another user has made leads no program to that user's daemon, which would get the program's variables.
func TestConnect_FolderOfAnotherUser_IsNotBelieved(t *testing.T) {
	dir, _ := madeByOther(t)
	for _, address := range []string{"auto", "127.0.0.1:6379"} {
		if _, err := Connect(context.Background(), Options{Address: address}); !errors.Is(err, ErrNoCluster) || !strings.Contains(err.Error(), "belongs to user 65534") || !strings.Contains(err.Error(), filepath.Dir(dir)) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A program that names the session of another user says nothing there.
func TestConnect_DaemonOfAnotherUser_IsToldNothing(t *testing.T) {
	dir, told := madeByOther(t)
	if _, err := Connect(context.Background(), Options{Address: dir}); !errors.Is(err, ErrNoCluster) || !strings.Contains(err.Error(), "uid 65534") {
		t.Errorf("%v", err)
	}
	told()
}

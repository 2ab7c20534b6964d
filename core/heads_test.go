package core_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core"
)

// A program that is given the address of a head works on this machine's node of the cluster with that head, however the address comes.
func TestConnect_ByTheAddressOfTheHead_FindsTheNode(t *testing.T) {
	base := filepath.Join(os.Getenv("EAGLERAY_TMPDIR"), fmt.Sprintf("eagleray-%d", os.Getuid()))
	session, err := os.ReadFile(filepath.Join(base, "current"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(session)), "heads"))
	if err != nil {
		t.Fatal(err)
	}
	head := strings.Fields(string(text))[0]
	_, port, err := net.SplitHostPort(head)
	if err != nil {
		t.Fatal(err)
	}
	connects := func(address string) {
		t.Helper()
		s, err := core.Connect(t.Context(), core.Options{Address: address})
		if err != nil {
			t.Errorf("Connect to %q: %v", address, err)
			return
		}
		defer s.Close()
		if nodes, err := s.Nodes(t.Context()); err != nil || len(nodes) != 1 || !nodes[0].Alive {
			t.Errorf("the nodes of %q are %+v, %v", address, nodes, err)
		}
	}
	connects(head)
	connects("192.0.2.1:1, " + head)
	for _, variable := range []string{"RAY_ADDRESS", "EAGLERAY_ADDRESS"} {
		t.Setenv(variable, head)
		connects("")
		t.Setenv(variable, "")
	}
	t.Setenv("RAY_ADDRESS", "192.0.2.1:1")
	t.Setenv("EAGLERAY_ADDRESS", head) // this one counts
	connects("")

	_, err = core.Connect(t.Context(), core.Options{Address: "192.0.2.1:" + port})
	if !errors.Is(err, core.ErrNoCluster) || !strings.Contains(err.Error(), "add this machine with `eagleray start --address=192.0.2.1:"+port) {
		t.Errorf("a head without a node here: %v", err)
	}
	if _, err = core.Connect(t.Context(), core.Options{Address: "host:0"}); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "is not HOST:PORT") {
		t.Errorf("no address: %v", err)
	}
}

package wire

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
)

// handshakePair returns the two ends of a connection.
func handshakePair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "end")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

func TestIntroduce_ManyResources_AllArrive(t *testing.T) {
	here, daemon := handshakePair(t)
	totals := map[string]int64{}
	for i := range 50_000 {
		totals[fmt.Sprintf("resource_%d", i)] = int64(i)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := ReadHello(daemon)
		if err == nil {
			err = SendHelloReply(daemon, HelloReply{Version: Version, Totals: Totals{Resources: totals}}, -1)
		}
		failed <- err
	}()
	r, _, err := Introduce(here, Hello{Version: Version, Role: RoleDriver})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if len(r.Totals.Resources) != len(totals) || r.Totals.Resources["resource_49999"] != 49999 {
		t.Errorf("%d of %d resources arrived", len(r.Totals.Resources), len(totals))
	}
}

func TestMessage_ReplyTooLargeForAFrame_WhoAskedIsTold(t *testing.T) {
	a, b := handshakePair(t)
	asks := NewPeer(a, func(*Message) {}, nil)
	answers := NewPeer(b, func(m *Message) { _ = m.Reply(make([]byte, MaxControl)) }, nil)
	asks.Start()
	answers.Start()
	defer asks.Close()
	defer answers.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	err := asks.Call(ctx, TClusterInfo, nil, nil)
	if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "does not fit one message") {
		t.Errorf("%v", err)
	}
}

package daemon_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestRobust_Garbage_IsRefusedAndNothingElseHappens(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	frames := map[string][]byte{
		"random":      []byte("\x13\x00\x00\x00GET / HTTP/1.1\r\n\r\n"),
		"huge":        {0xff, 0xff, 0xff, 0x7f, 0},
		"empty":       {},
		"zero":        {0, 0, 0, 0},
		"not a hello": mustFrame(t, wire.Request, wire.TKVGet, wire.KVKey{}),
		"role":        mustFrame(t, wire.Request, wire.THello, wire.Hello{Version: wire.Version, Role: "king"}),
		"version":     mustFrame(t, wire.Request, wire.THello, wire.Hello{Version: 99, Role: wire.RoleDriver}),
		"token":       mustFrame(t, wire.Request, wire.THello, wire.Hello{Version: wire.Version, Role: wire.RoleWorker, Token: "mine"}),
	}
	for name, b := range frames {
		c, err := net.Dial("unix", s.Dir+"/d.sock")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(b)
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(play.Limit))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the daemon keeps the connection", name)
		}
		c.Close()
	}
	// A client that was welcome and then talks nonsense is cut off or told.
	e := s.Connect(wire.RoleDriver)
	play.WantCode(t, e.Try(wire.TObjPin, wire.ObjPin{ObjectID: []byte("short")}, nil), fault.BadRequest, "object id")
	play.WantCode(t, e.Try(wire.TObjPin, "nonsense", nil), fault.BadRequest, "")
	play.WantCode(t, e.Try(wire.Type(999), nil, nil), fault.BadRequest, "999")
	play.WantCode(t, e.Try(wire.TActorCreate, wire.ActorCreate{ClassName: "A"}, nil), fault.BadRequest, "wrong length")
	play.WantCode(t, e.Try(wire.TJobEnd, nil, nil), fault.BadRequest, "driver")
	e.Push(wire.TWorkerReady, wire.WorkerReady{})
	e.Push(wire.TLeaseWant, wire.LeaseWant{ClassID: 7, Want: 1 << 40})
	_, _ = e.Peer.Conn().Write([]byte("\xff\xff\xff\xff"))
	<-e.Peer.Done()
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	d.Lease()
}

func mustFrame(t *testing.T, k wire.Kind, ty wire.Type, body any) []byte {
	b, err := wire.AppendMessage(nil, k, ty, 1, 0, body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRobust_JobEnds_StrayProcessesToo(t *testing.T) {
	s := play.Start(t, 2)
	a, b := s.Driver(nil), s.Driver(nil)
	var strays []int
	for _, d := range []*play.Driver{a, b} {
		d.Class(1, play.OneCPU, "default")
		d.Want(1, 1)
		h := d.Lease()
		pid, err := strconv.Atoi(h.Tell("child setsid"))
		if err != nil {
			t.Fatal(err)
		}
		strays = append(strays, pid)
		h.Tell("exit 0")
	}
	a.Call(wire.TJobEnd, nil, nil)
	play.Eventually(t, "the first job's stray process is gone", func() bool { return !play.Running(strays[0]) })
	if !play.Running(strays[1]) {
		t.Error("the other job's process was killed too")
	}
}
func TestRobust_KV(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	var added bool
	d.Call(wire.TKVPut, wire.KVPut{Namespace: "a", Key: []byte("k1"), Value: []byte("v")}, &added)
	if !added {
		t.Error("not new")
	}
	var v []byte
	d.Call(wire.TKVGet, wire.KVKey{Namespace: "a", Key: []byte("k1")}, &v)
	if string(v) != "v" {
		t.Errorf("%q", v)
	}
	var keys [][]byte
	d.Call(wire.TKVKeys, wire.KVKey{Namespace: "a", Key: []byte("k")}, &keys)
	var n int
	d.Call(wire.TKVDel, wire.KVKey{Namespace: "a", Key: []byte("k"), Prefix: true}, &n)
	if len(keys) != 1 || n != 1 {
		t.Errorf("%q, deleted %d", keys, n)
	}
	d.Call(wire.TKVGet, wire.KVKey{Namespace: "a", Key: []byte("k1")}, &v)
	if v != nil {
		t.Errorf("%q", v)
	}
}

package system

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

func TestRobust_Garbage_IsRefusedAndNothingElseHappens(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
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
		c, err := net.Dial("unix", s.dir+"/d.sock")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(b)
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(limit))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the daemon keeps the connection", name)
		}
		c.Close()
	}
	// A client that was welcome and then talks nonsense is cut off or told.
	e := s.connect(wire.RoleDriver)
	wantCode(t, e.try(wire.TObjPin, wire.ObjRef{ObjectID: []byte("short")}, nil), fault.BadRequest, "object id")
	wantCode(t, e.try(wire.TObjPin, "nonsense", nil), fault.BadRequest, "")
	wantCode(t, e.try(wire.Type(999), nil, nil), fault.BadRequest, "999")
	wantCode(t, e.try(wire.TActorCreate, wire.ActorCreate{ClassName: "A"}, nil), fault.BadRequest, "wrong length")
	wantCode(t, e.try(wire.TJobEnd, nil, nil), fault.BadRequest, "driver")
	e.push(wire.TWorkerReady, wire.WorkerReady{})
	e.push(wire.TLeaseWant, wire.LeaseWant{ClassID: 7, Want: 1 << 40})
	_, _ = e.peer.Conn().Write([]byte("\xff\xff\xff\xff"))
	<-e.peer.Done()
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	d.lease()
}

func mustFrame(t *testing.T, k wire.Kind, ty wire.Type, body any) []byte {
	b, err := wire.AppendMessage(nil, k, ty, 1, 0, body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRobust_KV(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	d := s.start(nil)
	var added bool
	d.call(wire.TKVPut, wire.KVPut{Namespace: "a", Key: []byte("k1"), Value: []byte("v")}, &added)
	if !added {
		t.Error("not new")
	}
	var v []byte
	d.call(wire.TKVGet, wire.KVKey{Namespace: "a", Key: []byte("k1")}, &v)
	if string(v) != "v" {
		t.Errorf("%q", v)
	}
	var keys [][]byte
	d.call(wire.TKVKeys, wire.KVKey{Namespace: "a", Key: []byte("k")}, &keys)
	var n int
	d.call(wire.TKVDel, wire.KVKey{Namespace: "a", Key: []byte("k"), Prefix: true}, &n)
	if len(keys) != 1 || n != 1 {
		t.Errorf("%q, deleted %d", keys, n)
	}
	d.call(wire.TKVGet, wire.KVKey{Namespace: "a", Key: []byte("k1")}, &v)
	if v != nil {
		t.Errorf("%q", v)
	}
}

func TestRobust_ManySessions_LeaveNothing(t *testing.T) {
	for range 5 {
		s := startSession(t, map[string]any{"num_cpus": 1})
		d := s.start(nil)
		d.class(1, map[string]float64{"CPU": 1}, "default")
		d.want(1, 1)
		d.lease()
		d.call(wire.TJobEnd, nil, nil)
		d.close()
		s.end()
	}
}

func TestRobust_DriverDoesNotRead_OthersDoNotNotice(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	a.class(1, map[string]float64{"CPU": 1}, "default")
	a.want(1, 1)
	h := a.lease()
	// The driver stops reading while its worker writes 60 MB.
	a.mu.Lock()
	h.tell("flood 60000000")
	b.class(1, map[string]float64{"CPU": 1}, "default")
	b.want(1, 1)
	if b.lease().tell("pid") == "" {
		t.Error("the other driver's worker does not answer")
	}
	if kB := rss(t, b.hello.DaemonPid); kB > 150_000 && !raceEnabled {
		t.Errorf("the daemon has %d kB", kB)
	}
	a.mu.Unlock()
	h.tell(`print the end\n`)
	a.line("the end")
}

// rss returns the resident memory of a process in kB.
func rss(t *testing.T, pid int) (kB int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	fmt.Sscan(rest, &kB)
	return kB
}

func TestRobust_JobEnds_StrayProcessesToo(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	a, b := s.start(nil), s.start(nil)
	var strays []int
	for _, d := range []*driver{a, b} {
		d.class(1, map[string]float64{"CPU": 1}, "default")
		d.want(1, 1)
		h := d.lease()
		text, _, _ := strings.Cut(h.tell("child setsid"), " ")
		pid, _ := strconv.Atoi(text)
		strays = append(strays, pid)
		h.tell("exit 0")
	}
	a.call(wire.TJobEnd, nil, nil)
	eventually(t, "the first job's stray process is gone", func() bool { return !running(strays[0]) })
	if !running(strays[1]) {
		t.Error("the other job's process was killed too")
	}
}

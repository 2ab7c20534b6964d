package client

import (
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/wire"
)

const mib = int64(1<<20) * int64(resource.Unit)

func TestOOMDelay_DoublesUpToAMinute(t *testing.T) {
	for n, want := range map[uint8]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 6: time.Minute, 40: time.Minute, 255: time.Minute} {
		if got := oomDelay(time.Second, n); got != want {
			t.Errorf("before retry %d: %v, want %v", n+1, got, want)
		}
	}
	if got := oomDelay(0, 3); got != 0 {
		t.Errorf("without a base: %v", got)
	}
}

func TestDoubled_OfWhatWasAskedOrHeld(t *testing.T) {
	for _, c := range []struct {
		asked int64
		held  uint64
		want  int64
	}{
		{100 * mib, 900 << 20, 200 * mib}, // what was stated counts
		{0, 300 << 20, 1024 * mib},
		{0, 512 << 20, 1024 * mib},
		{0, 0, 2 * mib},
		{math.MaxInt64, 0, math.MaxInt64 - 1},
	} {
		if got := doubled(c.asked, c.held); got != c.want {
			t.Errorf("asked %d, held %d: %d, want %d", c.asked, c.held, got, c.want)
		}
	}
	if doubled(0, math.MaxUint64) <= 0 {
		t.Error("an overflow")
	}
}

// A retry asks for twice as much, in a class of its own, until there is no more.
func TestEnlarge_UpToWhatTheNodeHas(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	c := bare(&Client{daemon: wire.NewPeer(here, func(*wire.Message) {}, func(error) {})})
	defer c.daemon.Close()
	c.info.Totals.Resources = map[string]int64{memoryName: 1000 * mib}
	tm := &Template{Name: "f", FID: []byte("0123456789abcdef"), Resources: map[string]int64{"CPU": 1, memoryName: 300 * mib},
		MoreMemory: true, Fallback: []*Template{{Resources: map[string]int64{"CPU": 1}}, {Resources: map[string]int64{memoryName: 900 * mib}}}}
	if err := c.addTemplate(tm); err != nil {
		t.Fatal(err)
	}
	a, b := &task{tmpl: tm}, &task{tmpl: tm}
	for _, want := range []int64{600, 1000} {
		if !c.enlarge(a, 5) || a.tmpl.Resources[memoryName] != want*mib || a.tmpl.Resources["CPU"] != 1 {
			t.Fatalf("it asks for %v, want memory %d", a.tmpl.Resources, want*mib)
		}
		if got := a.tmpl.Fallback[0].Resources[memoryName]; got != want*mib {
			t.Errorf("its first alternative asks for %d", got)
		}
	}
	if got := a.tmpl.Fallback[1].Resources[memoryName]; got != 1000*mib {
		t.Errorf("its second alternative asks for %d", got)
	}
	if c.enlarge(a, 5) {
		t.Error("it asks for more than the node has")
	}
	if !c.enlarge(b, 5) || b.tmpl != tm.larger {
		t.Error("two tasks that ask for the same do not share a template")
	}
	if tm.Resources[memoryName] != 300*mib || tm.class == b.tmpl.class || b.tmpl.class == a.tmpl.class {
		t.Error("the templates are not apart")
	}
	// What was not stated differs from task to task.
	free := &Template{Name: "g", FID: []byte("0123456789abcdeg"), Resources: map[string]int64{"CPU": 1}, MoreMemory: true}
	if err := c.addTemplate(free); err != nil {
		t.Fatal(err)
	}
	x, y, z := &task{tmpl: free}, &task{tmpl: free}, &task{tmpl: free}
	if !c.enlarge(x, 60<<20) || !c.enlarge(y, 200<<20) || !c.enlarge(z, 201<<20) {
		t.Fatal("they may not ask for more")
	}
	if x.tmpl.Resources[memoryName] != 128*mib || y.tmpl.Resources[memoryName] != 512*mib || z.tmpl != y.tmpl {
		t.Errorf("they ask for %v, %v, %v", x.tmpl.Resources, y.tmpl.Resources, z.tmpl.Resources)
	}
}

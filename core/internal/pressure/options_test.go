package pressure

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/machine"
)

func from(vars map[string]string) (Options, error) {
	return FromEnv(func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	})
}

func TestFromEnv_RaysNamesAndOurs(t *testing.T) {
	o, err := from(nil)
	if want := (Options{Every: 250 * time.Millisecond, Threshold: 0.95, MinFree: -1}); err != nil || o != want {
		t.Errorf("defaults %+v, %v, want %+v", o, err, want)
	}
	o, err = from(map[string]string{
		"RAY_memory_monitor_refresh_ms": "100", "EAGLERAY_memory_monitor_refresh_ms": "0", "RAY_memory_usage_threshold": "0.5",
		"RAY_min_memory_free_bytes": "1000", "EAGLERAY_memory_limit_bytes": "77", "EAGLERAY_MEMORY_ROOT": "/x",
	})
	if want := (Options{Every: 0, Threshold: 0.5, MinFree: 1000, Limit: 77, Root: "/x"}); err != nil || o != want {
		t.Errorf("got %+v, %v, want %+v", o, err, want)
	}
	for name, value := range map[string]string{
		"RAY_memory_monitor_refresh_ms": "-1", "RAY_memory_usage_threshold": "1.5", "EAGLERAY_memory_usage_threshold": "NaN",
		"RAY_min_memory_free_bytes": "-2", "EAGLERAY_memory_limit_bytes": "1GB",
	} {
		if _, err := from(map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: error %v, want one that names it", name, value, err)
		}
	}
}

func TestBar_ThresholdAndLeastFree(t *testing.T) {
	for _, c := range []struct {
		threshold float64
		free      int64
		room, bar uint64
	}{
		{0.95, -1, 1000, 950},
		{0.95, 10, 1000, 990}, // so much free suffices
		{0.95, 200, 1000, 950},
		{0.95, 5000, 1000, 950},
		{0.5, 0, 1000, 1000},
		{0, -1, 1000, 0},
		{1, -1, 1000, 1000},
	} {
		if got := (Options{Threshold: c.threshold, MinFree: c.free}).Bar(c.room); got != c.bar {
			t.Errorf("bar of %d with %v and %d free: %d, want %d", c.room, c.threshold, c.free, got, c.bar)
		}
	}
}

func TestTightest_AnyLevelCounts(t *testing.T) {
	o := Options{Threshold: 0.9, MinFree: -1, Every: time.Second}
	if _, _, ok := o.Tightest(nil); ok {
		t.Error("a level where there is none")
	}
	l, left, ok := o.Tightest([]machine.Level{{Name: "machine", Anon: 100, Room: 1000}, {Name: "group", Anon: 95, Room: 100}, {Name: "parent", Anon: 95, Room: 200}})
	if !ok || l.Name != "group" || left != -5 {
		t.Errorf("%s with %d left, want the group with -5", l.Name, left)
	}
	for left, want := range map[int64]time.Duration{-1: soonest, 0: soonest, 400 << 20: 48828125, 1 << 40: time.Second} {
		if got := o.Next(left); got != want {
			t.Errorf("next look with %d left after %v, want %v", left, got, want)
		}
	}
	if got := (Options{Every: time.Millisecond}).Next(0); got != time.Millisecond {
		t.Errorf("next look after %v, though each millisecond was asked for", got)
	}
}

func TestReport_SaysWhatAndWhyAndWho(t *testing.T) {
	o := Options{Threshold: 0.95, MinFree: -1}
	list := make([]Process, 12)
	for i := range list {
		list[i] = Process{Pid: 100 + i, Bytes: uint64(12-i) << 30, Command: "prog"}
	}
	text := o.Report("node 10.0.0.1 (abc)", Worker{Kind: Task, Name: "train", Pid: 100, Bytes: 12 << 30}, machine.Level{Name: "the machine", Anon: 97 << 30, Room: 100 << 30}, list)
	for _, want := range []string{"task train", "pid 100", "12.00 GB", "node 10.0.0.1 (abc)", "97.00 GB", "95.00 GB", "100.00 GB", "\n109\t3.00\tprog", "retry_with_more_memory"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the report:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\n110\t") {
		t.Errorf("more than ten processes:\n%s", text)
	}
}

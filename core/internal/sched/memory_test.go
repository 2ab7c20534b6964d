package sched

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

const gib = int64(1) << 30

func memoryMachine(t *testing.T, bytes ...int64) *Machine {
	t.Helper()
	names := []string{"0", "1", "2", "3"}[:len(bytes)]
	l, err := resource.NewLedger(resource.Set{"CPU": resource.FromInt(16)}, map[string][]string{resource.GPU: names})
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{Ledger: l, MaxIdle: 4, MaxStarts: 8})
	known := make(map[string]int64)
	for i, b := range bytes {
		if b > 0 {
			known[names[i]] = b
		}
	}
	if err := m.SetGPUMemory(known); err != nil {
		t.Fatal(err)
	}
	m.AddJob(ids.JobOf(1), "e")
	return m
}

func bytesOf(n int64) resource.Set {
	return resource.Set{"CPU": resource.Unit, resource.GPUMemory: resource.FromInt(n)}
}

// A stream of small requests for bytes must not keep a whole device from one
// who waits for it, nor the other way round.
func TestMemory_WholeDeviceAmongStreamsOfBytes_IsServed(t *testing.T) {
	for name, needs := range map[string][2]resource.Set{
		"whole among bytes": {bytesOf(3 * gib), {"CPU": resource.Unit, resource.GPU: resource.Unit}},
		"bytes among parts": {{"CPU": resource.Unit, resource.GPU: 1250}, bytesOf(20 * gib)},
		"bytes among bytes": {bytesOf(3 * gib), bytesOf(24 * gib)},
	} {
		m := memoryMachine(t, 24*gib)
		for c := range ClientID(2) {
			m.AddClient(c, ids.JobOf(1))
			m.DefineClass(c, Class{ID: 1, Need: needs[c], Env: "e", Name: "f"})
		}
		type running struct {
			Grant
			until time.Duration
		}
		var all []running
		served := false
		for now := time.Duration(0); now < 5*time.Second && !served; now += time.Millisecond {
			m.Advance(now)
			m.Want(0, 1, 50)
			if now == 20*time.Millisecond {
				m.Want(1, 1, 1)
			}
			for i := 0; i < len(all); i++ { // they end one by one, never all at a time
				if r := all[i]; r.until <= now {
					m.Return(r.Client, r.Lease, true, false)
					m.WorkerGone(r.Worker)
					all = append(all[:i], all[i+1:]...)
					i--
				}
			}
			for more := true; more; {
				more = false
				for _, a := range m.Actions() {
					switch a := a.(type) {
					case StartWorker:
						m.WorkerReady(a.Worker)
						more = true
					case Grant:
						served = served || a.Client == 1
						all = append(all, running{a, now + time.Duration(7+3*(a.Lease%5))*time.Millisecond})
					}
				}
			}
		}
		if !served {
			t.Errorf("%s: not served in 5 s; it is told: %s", name, m.Explain(1, 1))
		}
	}
}

func TestMemory_Impossible_FailsWithWhatThereIs(t *testing.T) {
	for want, m := range map[string]*Machine{
		"gpu_memory: asked 80 GiB of one device, the largest has 40 GiB": memoryMachine(t, 40*gib, 40*gib),
		"is not known: declare it":                                       memoryMachine(t, 0),
		"asked 80 GiB, the cluster has no GPU":                           memoryMachine(t),
	} {
		m.AddClient(1, ids.JobOf(1))
		m.DefineClass(1, Class{ID: 1, Need: bytesOf(80 * gib), Env: "e", Name: "f"})
		m.Want(1, 1, 1)
		var failed *ClassFailed
		for _, a := range m.Actions() {
			if f, ok := a.(ClassFailed); ok {
				failed = &f
			}
		}
		if failed == nil || failed.Code != fault.TaskUnschedulable || !strings.Contains(failed.Message, want) {
			t.Errorf("%+v, want …%s…", failed, want)
		}
	}
}

func TestMemory_KnownLate_ServesWhoWaits(t *testing.T) {
	m := memoryMachine(t, 0)
	m.o.WaitForFit = true
	m.AddClient(1, ids.JobOf(1))
	m.DefineClass(1, Class{ID: 1, Need: bytesOf(8 * gib), Env: "e", Name: "f"})
	m.Want(1, 1, 1)
	m.Actions()
	if err := m.SetGPUMemory(map[string]int64{"0": 16 * gib}); err != nil {
		t.Fatal(err)
	}
	if why := m.Explain(1, 1); !strings.Contains(why, "reserved") {
		t.Errorf("it waits: %s", why)
	}
	if got := m.LargestGPU(); got != 16*gib {
		t.Errorf("largest %d", got)
	}
}

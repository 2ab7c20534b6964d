//go:build cuda && cgo

package cuda

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/kernels/backend"
)

func init() {
	children["count"] = func() {
		n, err := Backend().Count()
		fmt.Println(n, err)
		if _, err := Backend().Open(0); n == 0 && err == nil {
			fmt.Println("a device was opened")
		}
	}
	children["uuids"] = func() {
		n, _ := Backend().Count()
		for i := range n {
			d, err := Backend().Open(i)
			if err != nil {
				fmt.Println(err)
				continue
			}
			info, err := d.Info()
			fmt.Println(info.UUID, info.TotalMemory, info.Capability, err)
		}
	}
	children["export"] = func() {
		d := opened0()
		m, err := d.Alloc(100)
		fmt.Println(err)
		_, err = d.Export(m)
		var unsupported *backend.UnsupportedError
		fmt.Println(errors.As(err, &unsupported), err)
	}
	children["lost"] = func() {
		d := opened0()
		m, _ := d.Alloc(400)
		v := backend.View{Ptr: m.Ptr(), DType: backend.F32, Shape: []int{100}, Strides: []int{4}}
		err := d.Map(nil, backend.Program{{Op: backend.Scale, S: 2}}, v, v)
		var driver *backend.DriverError
		fmt.Println(errors.As(err, &driver), err)
		fmt.Println(d.Synchronize())
		fmt.Println(m.Free())
	}
	children["leak"] = func() {
		d := opened0()
		kept, _ := d.Alloc(1000)
		freed, _ := d.Alloc(500)
		_ = freed.Free()
		_ = freed.Free()
		fmt.Println(kept.Size())
	}
}

func opened0() backend.Device {
	d, err := Backend().Open(0)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return d
}

func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%q does not contain %q", got, p)
		}
	}
}

func TestNoDriver(t *testing.T) {
	got := child(t, "count", "EAGLERAY_LIBCUDA="+filepath.Join(t.TempDir(), "libcuda.so.1"))
	wantText(t, got, "0 no NVIDIA driver: ", "libcuda.so.1")
	if strings.Contains(got, "opened") {
		t.Error(got)
	}
}

func TestDriverThatHasNoDevices(t *testing.T) {
	wantText(t, child(t, "count", "CUDA_VISIBLE_DEVICES="), "0 the NVIDIA driver does not start: cuInit answered 100")
	wantText(t, child(t, "count", "EAGLERAY_FAKE_CUDA_DEVICES=0"), "0 the NVIDIA driver does not start")
}

func TestDriverThatIsTooOld(t *testing.T) {
	wantText(t, child(t, "count", "EAGLERAY_FAKE_CUDA_DRIVER=11080"), "0 the NVIDIA driver is too old: it has CUDA 11.8, and 12.0")
}

func TestDriverThatLacksFunctions(t *testing.T) {
	wantText(t, child(t, "count", driverWithout(t, "cuInit")), "has no cuInit")
	wantText(t, child(t, "count", driverWithout(t, "cuDeviceGetCount")), "0 cuda: ", "cuDeviceGetCount")
	wantText(t, child(t, "export", driverWithout(t, "cuIpcGetMemHandle")), "<nil>", "true", "no cuIpcGetMemHandle")
	// The newer of two calls for the UUID is not needed.
	wantText(t, child(t, "uuids", driverWithout(t, "cuDeviceGetUuid_v2")), "GPU-fa4e0000-0000-0000-0000-000000000000")
}

func TestVisibleDevices(t *testing.T) {
	uuids := "EAGLERAY_FAKE_CUDA_UUIDS=GPU-00000000-0000-0000-0000-0000000000aa,GPU-11111111-0000-0000-0000-0000000000bb,GPU-22222222-0000-0000-0000-0000000000cc"
	for visible, want := range map[string]string{
		"2,0":              "GPU-22222222-0000-0000-0000-0000000000cc\nGPU-00000000-0000-0000-0000-0000000000aa",
		"1":                "GPU-11111111-0000-0000-0000-0000000000bb",
		"GPU-11111111,7,0": "GPU-11111111-0000-0000-0000-0000000000bb",
	} {
		var got []string
		for _, line := range strings.Split(child(t, "uuids", uuids, "EAGLERAY_FAKE_CUDA_DEVICES=3", "EAGLERAY_FAKE_CUDA_MEMORY=1048576", "CUDA_VISIBLE_DEVICES="+visible), "\n") {
			wantText(t, line, "1048576 [8 0] <nil>")
			got = append(got, strings.Fields(line)[0])
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("CUDA_VISIBLE_DEVICES=%s: %q, want %q", visible, got, want)
		}
	}
}

func TestLostContext(t *testing.T) {
	lines := strings.Split(child(t, "lost", "EAGLERAY_FAKE_CUDA_FAIL=cuLaunchKernel=700"), "\n")
	if len(lines) != 3 {
		t.Fatal(lines)
	}
	wantText(t, lines[0], "true cuda:0: launching map_f32: CUDA_ERROR_ILLEGAL_ADDRESS", "this process must be restarted", "(700)")
	wantText(t, lines[1], "must be restarted")
	wantText(t, lines[2], "must be restarted")
}

func TestLeaksAreReportedByTheStandIn(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	child(t, "leak", "EAGLERAY_FAKE_CUDA_REPORT="+report)
	files, err := filepath.Glob(report + ".*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	got, err := os.ReadFile(files[0])
	must(t, err)
	wantText(t, string(got), "leaks=1 bytes=1000 ", "double_frees=0 overruns=0 bad_handles=0")
}

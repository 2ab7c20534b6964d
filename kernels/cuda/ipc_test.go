//go:build cuda && cgo

package cuda

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func init() {
	// Reads handles, one a line; doubles the 100 floats that each stands for.
	children["import"] = func() {
		d := opened0()
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			handle, _ := hex.DecodeString(lines.Text())
			m, err := d.Import(handle, 400)
			if err == nil {
				v := backend.View{Ptr: m.Ptr(), DType: backend.F32, Shape: []int{100}, Strides: []int{4}}
				err = d.Map(nil, backend.Program{{Op: backend.Scale, S: 2}}, v, v)
				err = errors.Join(err, d.Synchronize(), m.Free(), m.Free())
			}
			fmt.Println(err)
		}
	}
	// Exports 100 floats and lets them go.
	children["exporter"] = func() {
		d := opened0()
		m, err := d.Alloc(400)
		if err != nil {
			fmt.Println(err)
			return
		}
		handle, err := d.Export(m)
		fmt.Println(hex.EncodeToString(handle), err)
	}
}

func TestMemoryIsSharedWithAnotherProcess(t *testing.T) {
	d := device(t)
	all := view(t, d, backend.F32, 1000)
	x := make([]float32, 1000)
	for i := range x {
		x[i] = float32(i)
	}
	must(t, d.Upload(nil, all, host(backend.F32, x, 1000)))
	whole, err := d.Export(d.Adopt(all.Ptr, 4000))
	must(t, err)
	inner, err := d.Export(d.Adopt(unsafe.Add(all.Ptr, 4*500), 400))
	must(t, err)

	cmd := childCommand(t, "import")
	in, err := cmd.StdinPipe()
	must(t, err)
	var out bytes.Buffer
	cmd.Stdout = &out
	must(t, cmd.Start())
	for _, h := range [][]byte{whole, inner, inner} {
		_, err := io.WriteString(in, hex.EncodeToString(h)+"\n")
		must(t, err)
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	if got := strings.Fields(out.String()); len(got) != 3 || got[0] != "<nil>" || got[1] != "<nil>" || got[2] != "<nil>" {
		t.Fatal(out.String())
	}
	must(t, d.Download(nil, host(backend.F32, x, 1000), all))
	for i := range x {
		factor := 1
		switch {
		case i < 100:
			factor = 2
		case i >= 500 && i < 600:
			factor = 4
		}
		if x[i] != float32(factor*i) {
			t.Fatalf("element %d is %v, want %d times that", i, x[i], factor)
		}
	}
}

func TestImportsThatCannotBe(t *testing.T) {
	d := device(t)
	v := view(t, d, backend.F32, 100)
	handle, err := d.Export(d.Adopt(v.Ptr, 400))
	must(t, err)
	other := append([]byte(nil), handle...)
	other[len(other)-1] ^= 1
	gone, _, _ := strings.Cut(child(t, "exporter"), " ")
	left, err := hex.DecodeString(gone)
	must(t, err)
	for what, err := range map[string]error{
		"this process exported it": second(d.Import(handle, 400)),
		"it is on the device":      second(d.Import(other, 400)),
		"no handle of CUDA memory": second(d.Import(handle[:50], 400)),
		"and it has 400":           second(d.Import(left, 401)),
		"CUDA IPC does not work":   second(d.Import(left, 400)), // its process has ended
		"it is not this device's":  second(d.Export(d.Adopt(nil, 0))),
	} {
		var unsupported *backend.UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

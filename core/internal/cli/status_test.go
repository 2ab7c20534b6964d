package cli

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPrintStatus_GPUMemory_TotalAndWhoHoldsIt(t *testing.T) {
	var out strings.Builder
	unit := int64(resource.Unit)
	printStatus(&out, &cluster{dir: "/s"}, &wire.ClusterInfo{
		Totals:    wire.Totals{Resources: map[string]int64{"GPU": 2 * unit, "gpu_memory": (80 << 30) * unit}},
		Available: map[string]int64{"GPU": unit, "gpu_memory": (50 << 30) * unit},
		GPUUses: []wire.GPUUse{
			{Pid: 12, Name: "train", Device: "1", Bytes: 3 << 30, Share: 4 << 30},
			{Pid: 13, Name: "Half", Device: "0", Bytes: 500 << 20},
		},
	}, &wire.ObjStats{})
	for _, want := range []string{"30 GiB / 80 GiB", "pid 12       GPU 1  3 GiB of 4 GiB  train", "pid 13       GPU 0  500 MiB  Half"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestPrintStatus_GPUMemory_TotalAndWhoHoldsIt(t *testing.T) {
	var out strings.Builder
	unit := int64(resource.Unit)
	printStatus(&out, "/s", &wire.ClusterInfo{NodeUse: wire.NodeUse{
		Resources: map[string]int64{"GPU": 2 * unit, "gpu_memory": (80 << 30) * unit},
		Available: map[string]int64{"GPU": unit, "gpu_memory": (50 << 30) * unit},
		GPUUses: []wire.GPUUse{
			{Pid: 12, Name: "train", Device: "1", Bytes: 3 << 30, Share: 4 << 30},
			{Pid: 13, Name: "Half", Device: "0", Bytes: 500 << 20},
		},
	}})
	for _, want := range []string{"30 GiB / 80 GiB", "pid 12       GPU 1  3 GiB of 4 GiB  train", "pid 13       GPU 0  500 MiB  Half"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestPrintStatus_NodeWithAName_IsShownWithIt(t *testing.T) {
	var out strings.Builder
	id := []byte{0xab, 0xcd, 0xef, 0x01, 0x02}
	printStatus(&out, "/s", &wire.ClusterInfo{Nodes: []wire.NodeInfo{
		{NodeID: id, Alive: true, IsHead: true, Name: "trunk", Address: "10.0.0.1", Hostname: "h", Pid: 7},
		{NodeID: id, Name: "10.0.0.2", Address: "10.0.0.2", Hostname: "i", Pid: 8},
	}})
	for _, want := range []string{"  alive head  abcdef01  trunk  10.0.0.1 (h, pid 7)\n", "  dead node  abcdef01  10.0.0.2 (i, pid 8)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestNoStatus_HeadIsSilent_SaysSo(t *testing.T) {
	c := &cluster{dir: "/s", pid: 7}
	if err := noStatus(c, fmt.Errorf("call: %w", context.DeadlineExceeded)); !strings.Contains(err.Error(), "the daemon (pid 7) runs, but the head of its cluster did not answer within 10s") || !strings.Contains(err.Error(), "/s/logs/daemon.log") {
		t.Errorf("the text is %q", err)
	}
	other := errors.New("other")
	if err := noStatus(c, other); err != other {
		t.Errorf("another error became %v", err)
	}
}

func TestPrintHeads_Roles_SaysHowManyAndWhoLeadsAndWhoIsNotHealthy(t *testing.T) {
	var out strings.Builder
	printHeads(&out, nil) // an embedded session
	if out.Len() > 0 {
		t.Errorf("without heads it says %q", out.String())
	}
	list := []wire.HeadInfo{
		{Number: 0, Addresses: []string{"a:1", "b:1"}, Role: wire.HeadVotes, Why: "it does not answer"},
		{Number: 2, Addresses: []string{"c:1"}, Role: wire.HeadLeads}, {Number: 4, Addresses: []string{"d:1"}, Role: wire.HeadStandsBy},
	}
	printHeads(&out, list)
	want := "\nHeads (head 2 leads, 1 of 2 voters healthy)\n  voter   0  a:1,b:1  not healthy: it does not answer\n  leader  2  c:1  healthy\n  standby 4  d:1  healthy\n"
	if out.String() != want {
		t.Errorf("it says %q, must say %q", out.String(), want)
	}
	out.Reset()
	list[1].Role = wire.HeadOfUnknownRole
	printHeads(&out, list[1:])
	if !strings.HasPrefix(out.String(), "\nHeads (none leads, 0 of 0 voters healthy)\n") {
		t.Errorf("it says %q", out.String())
	}
}

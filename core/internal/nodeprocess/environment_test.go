package nodeprocess

import (
	"log/slog"
	"maps"
	"testing"

	"github.com/eagleray/eagleray/core/internal/accelerator"
)

func TestWorkersEnv_SettingsSecretsAndDevices_StayWithTheNode(t *testing.T) {
	environ := []string{
		"A=1", "B=x=y", "EMPTY=", "RAYS=3", "=C:=x", "nothing", "LATIN=\xff",
		"EAGLERAY_TMPDIR=/t", "RAY_AUTH_TOKEN=secret", "RAY_gcs_storage_path=/s", "PYTHONPATH=/p", "PYTHONHOME=/h", "PWD=/w", "_=/bin/x", "NOTIFY_SOCKET=/n",
	}
	for _, name := range accelerator.Variables() {
		environ = append(environ, name+"=0")
	}
	if got, want := workersEnv(environ), map[string]string{"A": "1", "B": "x=y", "EMPTY": "", "RAYS": "3"}; !maps.Equal(got, want) {
		t.Errorf("workers get %q, want %q", got, want)
	}
}

func TestOptions_OnlyANodeOfACluster_HasVariablesForWorkers(t *testing.T) {
	t.Setenv("OF_THE_NODE", "1")
	t.Setenv("EAGLERAY_DEVICE_ROOT", t.TempDir())
	for _, member := range []*MemberConfig{nil, {}} {
		o, err := (&Config{Member: member, NodeIP: "127.0.0.1"}).options(t.TempDir(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Env["OF_THE_NODE"]; (got == "1") != (member != nil) {
			t.Errorf("member %v: workers get %q", member, got)
		}
	}
}

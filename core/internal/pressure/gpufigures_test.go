package pressure

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/gpus"
)

// helper is a program that stands for eagleray-gpu. Its driver lists the process of a probe,
// once there is one. The probe runs the shell command that is given.
func helper(t *testing.T, probe string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "helper")
	text := "#!/bin/sh\nDIR=" + dir + `
test -z "$RAY_AUTH_TOKEN" || exit 1
case $1 in
watch)
	echo '{"Devices":[{"Index":0,"UUID":"GPU-0"}]}'
	while read -r line; do
		echo "{\"Uses\":[{\"Pid\":$(cat $DIR/pid 2>/dev/null || echo 1),\"Device\":0,\"Bytes\":5}]}"
	done ;;
probe) ` + probe + ` ;;
esac
`
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A probe is recognised when the driver lists its process. A probe that opens no GPU says why.
func TestOpenGPUs_Probe(t *testing.T) {
	t.Setenv("RAY_AUTH_TOKEN", "secret") // the helper ends when it gets it
	for name, c := range map[string]struct {
		probe  string
		listed bool
	}{
		"it opens a GPU":         {"echo $$ >$DIR/pid; echo open; read -r line", true},
		"it says something else": {"echo no device; read -r line", false},
		"it ends":                {"exit 1", false},
	} {
		g, err := OpenGPUs(helper(t, c.probe), "", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.(*driver).watcher.Close)
		if want := []gpus.Device{{Index: 0, UUID: "GPU-0"}}; !slices.Equal(g.Devices(), want) {
			t.Errorf("devices %+v", g.Devices())
		}
		if uses, err := g.Uses(); err != nil || !slices.Equal(uses, []gpus.Use{{Pid: 1, Device: 0, Bytes: 5}}) {
			t.Errorf("uses %+v, %v", uses, err)
		}
		if listed, err := g.Probe(); listed != c.listed || (err == nil) != c.listed {
			t.Errorf("%s: listed %v, %v", name, listed, err)
		}
	}
	if _, err := OpenGPUs("", "", ""); err == nil {
		t.Error("GPUs without the program that opens them")
	}
}

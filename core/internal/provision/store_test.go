package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

const testLimit = 20 * time.Second

// played is an interpreter that does what the variable MODE says. It notes each of its runs.
const played = `#!/bin/sh
echo "run $$" >> "$NOTES"
IFS= read -r order
folder=$(printf '%s' "$order" | sed 's/.*"folder":"\([^"]*\)".*/\1/')
test -e "$folder" && echo "half a folder is there" >> "$NOTES"
mkdir -p "$folder"; echo x > "$folder/file"
case "$MODE" in
good) printf '{"folder":"%s","bytes":100,"command":["/bin/x","-B"]}' "$folder" >&3 ;;
bad) printf '{"error":"no such package"}' >&3 ;;
silent) echo "it broke" >&2; exit 1 ;;
relative) printf '{"command":["x"]}' >&3 ;;
text) printf 'text' >&3 ;;
long) head -c 2000000 /dev/zero >&3 ;;
hang) read -r line; echo "told to end" >> "$NOTES" ;;
esac
`

type bench struct {
	*Store
	t     *testing.T
	dir   string
	notes string
}

func newBench(t *testing.T, cap int64) *bench {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/python", []byte(played), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, notes: dir + "/notes"}
	b.Store = NewStore(Options{Dir: dir + "/made", LogDir: dir + "/logs", Caps: map[string]int64{wire.NeedPip: cap}, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(b.Close)
	return b
}

// spec returns an environment that needs one thing of pip.
func (b *bench) spec(what string, more ...wire.Need) *wire.EnvSpec {
	needs := append([]wire.Need{{Field: wire.NeedPip, What: fmt.Sprintf(`{"packages":[%q]}`, what)}}, more...)
	return &wire.EnvSpec{Python: b.dir + "/python", Cwd: "/work", Needs: needs}
}

func (b *bench) provide(ctx context.Context, mode, what string, more ...wire.Need) (*Provided, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "MODE=" + mode, "NOTES=" + b.notes}
	return b.Provide(ctx, b.spec(what, more...), env)
}

func (b *bench) must(mode, what string) *Provided {
	b.t.Helper()
	p, err := b.provide(b.t.Context(), mode, what)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) runs() int {
	text, _ := os.ReadFile(b.notes)
	return strings.Count(string(text), "run ")
}

func (b *bench) noted(text string) bool {
	all, _ := os.ReadFile(b.notes)
	return strings.Contains(string(all), text)
}

// there returns how many folders are on the disk.
func (b *bench) there() (n int) {
	list, _ := filepath.Glob(b.dir + "/made/*/file")
	return len(list)
}

func (b *bench) until(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(testLimit); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not in %v: %s", testLimit, what)
		}
	}
}

func TestProvide_ManyAtOnce_MakeOneFolder(t *testing.T) {
	b := newBench(t, 1000)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			p, err := b.provide(t.Context(), "good", "a")
			if err != nil || len(p.Answers) != 1 || strings.Join(p.Command, " ") != "/bin/x -B" {
				t.Errorf("got %+v, %v", p, err)
			}
			p.Free()
			p.Free() // once is enough, and twice is no more
		})
	}
	all.Wait()
	if b.runs() != 1 || b.there() != 1 {
		t.Errorf("%d runs made %d folders", b.runs(), b.there())
	}
	b.must("good", "b").Free()
	if b.runs() != 2 || b.there() != 2 {
		t.Errorf("with another need %d runs made %d folders", b.runs(), b.there())
	}
}

func TestFree_MoreThanTheCap_RemovesWhatIsUnusedForLongest(t *testing.T) {
	b := newBench(t, 250) // a folder says that it has 100 bytes
	used := b.must("good", "in use")
	for _, what := range []string{"a", "b", "a", "c"} {
		b.must("good", what).Free()
	}
	b.until("the folder b is removed", func() bool { return b.there() == 3 })
	runs := b.runs()
	b.must("good", "a").Free()
	b.must("good", "c").Free()
	b.must("good", "in use").Free()
	if b.runs() != runs {
		t.Error("another folder than b was removed")
	}
	b.must("good", "b").Free()
	if b.runs() != runs+1 {
		t.Error("the folder b was not removed")
	}
	used.Free()
	b.until("two folders are left", func() bool { return b.there() == 2 })
}

func TestProvide_ProgramFails_SaysWhyAndLeavesNothing(t *testing.T) {
	b := newBench(t, 1000)
	for mode, want := range map[string]string{
		"bad": "no such package", "silent": "ended without an answer; it last wrote:\nit broke", "relative": `answers "{\"command`,
		"text": "invalid character", "long": "more than 1048576 bytes",
	} {
		_, err := b.provide(t.Context(), mode, mode)
		if fault.CodeOf(err) != fault.RuntimeEnvSetup || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `runtime_env["pip"]`) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
	}
	if n := b.there(); n != 0 {
		t.Errorf("%d folders are left", n)
	}
	runs := b.runs()
	if _, err := b.provide(t.Context(), "bad", "bad"); err == nil || b.runs() != runs {
		t.Errorf("asked again at once it says %v after %d more runs", err, b.runs()-runs)
	}
	b.until("the failure is forgotten", func() bool { return b.Sizes()["provided_folders"] == 0 })
	b.must("good", "bad").Free()
}

func TestProvide_NobodyWaits_ProgramEndsAndTheNextBeginsAnew(t *testing.T) {
	b := newBench(t, 1000)
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error)
	go func() {
		_, err := b.provide(ctx, "hang", "a")
		failed <- err
	}()
	b.until("the program runs", func() bool { return b.there() == 1 })
	cancel(errors.New("the job is over"))
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "the job is over") {
		t.Errorf("got %v", err)
	}
	b.must("good", "a").Free() // it may come while the other program ends
	if b.runs() != 2 || b.noted("half a folder") || !b.noted("told to end") {
		text, _ := os.ReadFile(b.notes)
		t.Errorf("the programs note:\n%s", text)
	}
}

func TestProvide_TakesTooLong_SaysTheLimit(t *testing.T) {
	b := newBench(t, 1000)
	_, err := b.provide(t.Context(), "hang", "a", wire.Need{Field: wire.NeedConfig, What: `{"seconds":0.05}`})
	if fault.CodeOf(err) != fault.RuntimeEnvSetup || !strings.Contains(err.Error(), "0.05 s, which is its setup_timeout_seconds") {
		t.Errorf("got %v", err)
	}
	b.until("nothing is left", func() bool { return b.there() == 0 && b.noted("told to end") })
}

func TestProvide_WrongNeeds_AreRefused(t *testing.T) {
	b := newBench(t, 1000)
	for want, need := range map[string]wire.Need{
		"does not have it":                     {Field: "conda", What: "{}"},
		"package 3, and the environment has 0": {Field: wire.NeedWorkingDir, What: "{}", Package: 3},
		"package -1":                           {Field: wire.NeedWorkingDir, What: "{}", Package: -1},
		"names no program":                     {Field: wire.NeedCommand, What: "{}"},
		"no program nothere in PATH":           {Field: wire.NeedCommand, What: `{"command":["nothere"]}`},
		"/work/x is no program":                {Field: wire.NeedCommand, What: `{"command":["./x"]}`},
		"invalid character":                    {Field: wire.NeedConfig, What: "x"},
	} {
		p, err := b.provide(t.Context(), "good", "a", need)
		if fault.CodeOf(err) != fault.RuntimeEnvSetup || !strings.Contains(err.Error(), want) || p != nil {
			t.Errorf("%+v: %v, want %q", need, err, want)
		}
	}
	for key, f := range b.folders {
		if f.users != 0 {
			t.Errorf("folder %s has %d users", key, f.users)
		}
	}
}

func TestProvide_DependsOnWhatCameBefore_IsAnotherFolder(t *testing.T) {
	b := newBench(t, 1000)
	first := wire.Need{Field: wire.NeedWorkingDir, What: `{"uri":"file:///1.zip"}`}
	other := wire.Need{Field: wire.NeedWorkingDir, What: `{"uri":"file:///2.zip"}`}
	provide := func(dir wire.Need, what string) {
		t.Helper()
		e := &wire.EnvSpec{Python: b.dir + "/python", Needs: []wire.Need{dir, {Field: wire.NeedPip, What: what}}}
		p, err := b.Provide(t.Context(), e, []string{"PATH=" + os.Getenv("PATH"), "MODE=good", "NOTES=" + b.notes})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Free()
	}
	b.o.Caps[wire.NeedWorkingDir] = 1000
	provide(first, `{"packages":["a"]}`)
	provide(other, `{"packages":["a"]}`)
	if b.runs() != 3 {
		t.Errorf("%d runs, want two folders and one environment", b.runs())
	}
	provide(first, `{"packages":["a"],"after":"x"}`)
	provide(other, `{"packages":["a"],"after":"x"}`)
	if b.runs() != 5 {
		t.Errorf("%d runs, want an environment for each folder", b.runs())
	}
}

func TestClose_ProgramRuns_EndsItAndRemovesAll(t *testing.T) {
	b := newBench(t, 1000)
	failed := make(chan error)
	go func() {
		_, err := b.provide(t.Context(), "hang", "a")
		failed <- err
	}()
	b.until("the program runs", func() bool { return b.there() == 1 })
	b.Close()
	if err := <-failed; err == nil {
		t.Error("a folder was made although the store is closed")
	}
	if _, err := os.Stat(b.dir + "/made"); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	if _, err := b.provide(t.Context(), "good", "a"); err == nil || !strings.Contains(err.Error(), "the node is ending") {
		t.Errorf("after the end: %v", err)
	}
}

func TestCapsFromEnv_Variables_AreGigabytesOfTheirField(t *testing.T) {
	vars := map[string]string{"RAY_RUNTIME_ENV_PIP_CACHE_SIZE_GB": "0.5", "RAY_RUNTIME_ENV_UV_CACHE_SIZE_GB": "1", "EAGLERAY_RUNTIME_ENV_UV_CACHE_SIZE_GB": "2"}
	look := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	caps, err := CapsFromEnv(look)
	if err != nil || caps[wire.NeedPip] != 1<<29 || caps[wire.NeedUv] != 2<<30 || caps[wire.NeedWorkingDir] != 10<<30 || caps[wire.NeedModule] != 10<<30 {
		t.Errorf("got %v, %v", caps, err)
	}
	for _, wrong := range []string{"x", "-1", "NaN", "1e300"} {
		vars["RAY_RUNTIME_ENV_PIP_CACHE_SIZE_GB"] = wrong
		if _, err := CapsFromEnv(look); err == nil || !strings.Contains(err.Error(), "RAY_RUNTIME_ENV_PIP_CACHE_SIZE_GB") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestLazy_Config_SaysIt(t *testing.T) {
	lazy := &wire.EnvSpec{Needs: []wire.Need{{Field: wire.NeedConfig, What: `{"lazy":true}`}}}
	if !Lazy(lazy) || Lazy(&wire.EnvSpec{}) || Lazy(&wire.EnvSpec{Needs: []wire.Need{{Field: wire.NeedConfig, What: "x"}}}) {
		t.Error("wrong environments are lazy")
	}
}

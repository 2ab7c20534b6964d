package packages

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/archive"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

var quiet = slog.New(slog.DiscardHandler)

// world is a head with nodes. Each node has a Store.
type world struct {
	t      *testing.T
	dir    string
	depot  *Depot
	mu     sync.Mutex
	over   map[ids.Job]bool
	dials  int
	served sync.WaitGroup
	breaks func(net.Conn) net.Conn // changes the head's end of connections; nil: nothing
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), over: make(map[ids.Job]bool)}
	w.open()
	t.Cleanup(w.served.Wait)
	return w
}

// open starts the head, perhaps again.
func (w *world) open() {
	d, err := OpenDepot(DepotOptions{Dir: w.dir, Runs: w.runs, Fresh: func(context.Context) error { return nil }, Log: quiet})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(d.Close)
	w.depot = d
}

func (w *world) runs(job ids.Job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.over[job]
}

func (w *world) end(job ids.Job) {
	func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over[job] = true
	}()
	w.depot.Ended(job)
}

func (w *world) dial(context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials++
	if w.breaks != nil {
		far = w.breaks(far)
	}
	w.served.Go(func() {
		defer far.Close()
		w.depot.Serve(7, far)
	})
	return near, nil
}

func (w *world) node(number uint32) *Store {
	s := NewStore(Options{Dir: filepath.Join(w.t.TempDir(), "packages"), Node: number, Head: w.dial, Log: quiet})
	w.t.Cleanup(s.Close)
	return s
}

// kept returns the names in the head's folder, without hashes.
func (w *world) kept() string {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		name := e.Name()
		if len(name) > 64 {
			name = name[64:]
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func folderWith(t *testing.T, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "program")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func envOf(dir string) wire.EnvSpec {
	return wire.EnvSpec{Key: "k", Cwd: dir, SysPath: []string{dir, "/elsewhere"}, Packages: []wire.Package{{Path: dir}}}
}

// pack packs a folder on a node.
func pack(t *testing.T, s *Store, job ids.Job, dir string) wire.EnvSpec {
	t.Helper()
	e := envOf(dir)
	if !s.Needs(&e) {
		t.Fatal("nothing is to be packed")
	}
	if err := s.Pack(t.Context(), job, &e); err != nil {
		t.Fatal(err)
	}
	if s.Needs(&e) || e.Packages[0].Node != s.o.Node {
		t.Fatalf("packed: %+v", e.Packages)
	}
	return e
}

func place(t *testing.T, s *Store, job ids.Job, e wire.EnvSpec) *wire.EnvSpec {
	t.Helper()
	got, err := s.Place(t.Context(), job, &e)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var one, two = ids.JobOf(1), ids.JobOf(2)

func TestPlace_AnotherNode_HasACopyAndPathsLeadThere(t *testing.T) {
	w := newWorld(t)
	first, second, third := w.node(1), w.node(2), w.node(3)
	e := pack(t, first, one, folderWith(t, "x"))
	if got := place(t, first, one, e); got.Cwd != e.Cwd {
		t.Errorf("the node that has packed it uses %s", got.Cwd)
	}
	if err := os.RemoveAll(e.Cwd); err != nil {
		t.Fatal(err)
	}
	got := place(t, second, one, e)
	if b, err := os.ReadFile(filepath.Join(got.Cwd, "main.py")); string(b) != "x" || filepath.Dir(got.Cwd) != second.o.Dir {
		t.Errorf("%s has %q, %v", got.Cwd, b, err)
	}
	if got.SysPath[0] != got.Cwd || got.SysPath[1] != "/elsewhere" || e.SysPath[0] != e.Cwd {
		t.Errorf("paths %q from %q", got.SysPath, e.SysPath)
	}
	if p := got.Packages[0]; p.Node != 2 || p.Path != got.Cwd || p.Hash != e.Packages[0].Hash {
		t.Errorf("what the node's own workers pass on: %+v", p)
	}
	if far := place(t, third, one, *got); filepath.Dir(far.Cwd) != third.o.Dir || far.SysPath[0] != far.Cwd {
		t.Errorf("on a third node: %+v", far)
	}
}

func TestPack_TheSameAgain_IsSentOnce(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	dir := folderWith(t, "x")
	e := pack(t, first, one, dir)
	if err := os.WriteFile(filepath.Join(dir, "main.py"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := pack(t, first, one, dir); again.Packages[0].Hash != e.Packages[0].Hash || w.dials != 1 {
		t.Errorf("one job packed a folder twice: %d connections", w.dials)
	}
	if other := pack(t, first, two, dir); other.Packages[0].Hash == e.Packages[0].Hash {
		t.Error("changed contents have the same hash")
	}
	if other := pack(t, second, two, folderWith(t, "x")); other.Packages[0].Hash != e.Packages[0].Hash {
		t.Error("equal contents of another node have another hash")
	}
	if got, want := w.kept(), "-00000001.job -00000002.job .tar"; !strings.Contains(got, want) {
		t.Errorf("the head has %q, want one package for both jobs: %q", got, want)
	}
}

func TestPlace_ManyAtOnce_OneFetch(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	e := pack(t, first, one, folderWith(t, "x"))
	before := w.dials
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := second.Place(t.Context(), ids.JobOf(uint32(i%3+1)), &e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if w.dials != before+1 {
		t.Errorf("%d fetches", w.dials-before)
	}
}

func entriesOf(t *testing.T, s *Store) int {
	t.Helper()
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestEnded_LastJob_PackageIsRemovedEverywhere(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	dir := folderWith(t, "x")
	e := pack(t, first, one, dir)
	pack(t, first, two, dir)
	place(t, second, one, e)
	place(t, second, two, e)
	second.Left(one)
	second.Ended(one)
	w.end(one)
	if _, err := os.Stat(second.folder(hashIn(t, e))); err != nil || w.kept() != "-00000002.job .tar" {
		t.Errorf("the other job still uses it: %v; the head has %q", err, w.kept())
	}
	second.Ended(two)
	if entriesOf(t, second) == 0 {
		t.Error("workers of the job are left, and the package is gone")
	}
	second.Left(two)
	await.Within(t, 30*time.Second, "the node removes the package", func() bool { return entriesOf(t, second) == 0 })
	w.end(two)
	if got := w.kept(); got != "" {
		t.Errorf("the head has %q", got)
	}
	for _, s := range []*Store{first, second} {
		s.Ended(one)
		s.Ended(two)
		s.Left(one)
		s.Left(two)
		for name, n := range s.Sizes() {
			if n != 0 {
				t.Errorf("%d %s are left", n, name)
			}
		}
	}
}

func hashIn(t *testing.T, e wire.EnvSpec) Hash {
	t.Helper()
	h, err := ParseHash(e.Packages[0].Hash)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLeft_NothingComesForAWhile_PackageIsRemovedAndFetchedAgain(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	second.o.Idle = time.Millisecond
	e := pack(t, first, one, folderWith(t, "x"))
	place(t, second, one, e)
	second.Left(one)
	await.Within(t, 30*time.Second, "the node removes the package", func() bool { return entriesOf(t, second) == 0 })
	place(t, second, one, e)
	if entriesOf(t, second) != 1 {
		t.Error("the package did not come again")
	}
}

func TestDepot_StartedAgain_KnowsWhoUsesWhat(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	e := pack(t, first, one, folderWith(t, "x"))
	gone := pack(t, first, two, folderWith(t, "y"))
	w.over[two] = true // while no head ran
	for _, name := range []string{"1" + coming, "other"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.open()
	if got := len(strings.Fields(w.kept())); got != 4 { // the head does not know yet which jobs have ended
		t.Errorf("the head has %q", w.kept())
	}
	if err := w.depot.catchUp(); err != nil {
		t.Fatal(err)
	}
	if got := w.kept(); got != "-00000001.job .tar" {
		t.Errorf("the head has %q", got)
	}
	place(t, second, one, e)
	if _, err := second.Place(t.Context(), two, &gone); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), gone.Cwd) {
		t.Errorf("a package that nobody uses: %v", err)
	}
	w.end(one)
	if got := w.kept(); got != "" {
		t.Errorf("the head has %q", got)
	}
}

func TestKeep_JobIsOver_IsRefusedAndNothingStays(t *testing.T) {
	w := newWorld(t)
	first := w.node(1)
	w.over[one] = true
	e := envOf(folderWith(t, "x"))
	err := first.Pack(t.Context(), one, &e)
	if fault.CodeOf(err) != fault.RuntimeEnvSetup || !strings.Contains(err.Error(), "job 00000001 has ended") || w.kept() != "" {
		t.Errorf("%v; the head has %q", err, w.kept())
	}
}

// cut breaks a connection after so many bytes.
type cut struct {
	net.Conn
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(b)
}

func TestPlace_ConnectionBreaks_IsTriedAgain(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	e := pack(t, first, one, folderWith(t, strings.Repeat("x", 3*block)))
	before := w.dials
	w.breaks = func(c net.Conn) net.Conn {
		if w.dials <= before+2 {
			return &cut{c, 2 * block}
		}
		return c
	}
	got := place(t, second, one, e)
	if b, err := os.ReadFile(filepath.Join(got.Cwd, "main.py")); len(b) != 3*block || err != nil || w.dials != before+3 {
		t.Errorf("%d bytes, %v, %d connections", len(b), err, w.dials-before)
	}
	if n := entriesOf(t, second); n != 1 {
		t.Errorf("%d entries are left, want the package alone", n)
	}
}

// flip damages a byte of the contents.
type flip struct{ net.Conn }

func (c flip) Write(b []byte) (int, error) {
	if len(b) > 2000 {
		b = append([]byte{}, b...)
		b[1500] ^= 1
	}
	return c.Conn.Write(b)
}

func TestPlace_BytesAreDamaged_AreNotUsed(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	e := pack(t, first, one, folderWith(t, strings.Repeat("x", 5000)))
	before := w.dials
	w.breaks = func(c net.Conn) net.Conn {
		if w.dials == before+1 {
			return flip{c}
		}
		return c
	}
	got := place(t, second, one, e)
	if b, _ := os.ReadFile(filepath.Join(got.Cwd, "main.py")); string(b) != strings.Repeat("x", 5000) || w.dials != before+2 {
		t.Errorf("%d bytes after %d connections", len(b), w.dials-before)
	}
}

func TestPlace_WhoWaitsGivesUp_FetchingEndsAndNothingStays(t *testing.T) {
	w := newWorld(t)
	first, second := w.node(1), w.node(2)
	e := pack(t, first, one, folderWith(t, "x"))
	held := make(chan struct{})
	second.o.Head = func(ctx context.Context) (net.Conn, error) {
		close(held)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-held
		cancel(errors.New("the zygote is not wanted"))
	}()
	if _, err := second.Place(ctx, one, &e); err == nil || !strings.Contains(err.Error(), "not wanted") {
		t.Errorf("got %v", err)
	}
	await.Within(t, 30*time.Second, "the file is removed", func() bool { return entriesOf(t, second) == 0 })
	second.o.Head = w.dial
	place(t, second, one, e)
}

func TestPack_CannotBe_SaysWhy(t *testing.T) {
	w := newWorld(t)
	first := w.node(1)
	dir := folderWith(t, "x")
	if err := os.Truncate(filepath.Join(dir, "main.py"), archive.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	e := envOf(dir)
	if err := first.Pack(t.Context(), one, &e); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "more than 512 MiB") {
		t.Errorf("too large: %v", err)
	}
	e = envOf(filepath.Join(dir, "missing"))
	if err := first.Pack(t.Context(), one, &e); fault.CodeOf(err) != fault.RuntimeEnvSetup {
		t.Errorf("missing: %v", err)
	}
	if n := entriesOf(t, first); n != 0 || w.dials != 0 {
		t.Errorf("%d entries are left after %d connections", n, w.dials)
	}
	alone := NewStore(Options{Dir: t.TempDir(), Node: 1, Log: quiet})
	defer alone.Close()
	if e = envOf(dir); alone.Needs(&e) {
		t.Error("a node that is alone packs")
	}
}

func TestServe_WhatMakesNoSense_IsRefused(t *testing.T) {
	w := newWorld(t)
	for name, q := range map[string]request{
		"another question": {what: 9}, "no bytes": {what: askKeep}, "too many bytes": {what: askKeep, size: archive.MaxStream + 1}, "missing": {what: askGet},
	} {
		c, err := w.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err = q.write(c); err == nil {
			_, _, err = readAnswer(c)
		}
		var refused *refusedError
		if !errors.As(err, &refused) && !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	if got := w.kept(); got != "" {
		t.Errorf("the head has %q", got)
	}
}

func TestRelocate_Modules_ComeBeforeTheirFolder(t *testing.T) {
	here := t.TempDir()
	e := wire.EnvSpec{
		Cwd: "/gone/work/sub", SysPath: []string{"/gone/lib", "/gone/lib", "/gone/work/missing", "/gone/worker", here},
		JobEnv: map[string]string{"PYTHONPATH": "/gone/work:/x", "EAGLERAY_DRIVER_PYTHONPATH": "=/gone/lib", "OTHER": "/gone/work"},
		Packages: []wire.Package{
			{Path: "/gone/lib/a", Module: true, Hash: "1"}, {Path: "/gone/lib/b.py", Module: true, Hash: "2"}, {Path: "/gone/work", Hash: "3"},
			{Path: here + "/c", Module: true, Hash: "4"}, {Path: "/stays", Hash: "5"},
		},
	}
	work := filepath.Join(t.TempDir(), "work")
	if err := os.MkdirAll(work+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	x := relocate(&e, []string{"/p/1", "/p/2", work, "/p/4", ""}, 5)
	if got, want := strings.Join(x.SysPath, " "), "/p/1 /p/2 /gone/work/missing /gone/worker /p/4 "+here; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if x.Cwd != work+"/sub" || x.JobEnv["PYTHONPATH"] != work+":/x" || x.JobEnv["EAGLERAY_DRIVER_PYTHONPATH"] != "=/p/1:/p/2" || x.JobEnv["OTHER"] != "/gone/work" {
		t.Errorf("got %s, %v", x.Cwd, x.JobEnv)
	}
	if x.Packages[0].Path != "/p/1/a" || x.Packages[1].Path != "/p/2/b.py" || x.Packages[2].Path != work || x.Packages[4].Node != 0 || x.Packages[0].Node != 5 {
		t.Errorf("got %+v", x.Packages)
	}
}

func TestRelocate_GoProgram_IsTheCopy(t *testing.T) {
	e := wire.EnvSpec{Python: "/home/me/bin/program", Cwd: "/work", SysPath: []string{"/home/me/bin"}, Packages: []wire.Package{{Path: "/home/me/bin/program", Module: true}, {Path: "/work"}}}
	x := relocate(&e, []string{"/p/1", ""}, 5)
	if x.Python != "/p/1/program" || x.Packages[0].Path != "/p/1/program" || x.Packages[0].Node != 5 {
		t.Errorf("%+v", x)
	}
	if len(x.SysPath) != 1 || x.SysPath[0] != e.SysPath[0] || x.Cwd != "/work" || e.Python != "/home/me/bin/program" {
		t.Errorf("more has changed than the program: %+v, %+v", x, e)
	}
}

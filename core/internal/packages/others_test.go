package packages

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/tests/await"
)

// group is some heads, of which some are down, with nodes that ask the first one that is not.
type group struct {
	t      *testing.T
	dirs   []string
	depots []*Depot
	served sync.WaitGroup

	mu      sync.Mutex
	down    map[uint32]bool
	over    map[ids.Job]bool
	behind  map[uint32]bool // their states do not have the last jobs yet
	changed chan struct{}
}

// seat is what one head sees of the others.
type seat struct {
	g    *group
	self uint32
}

func (s seat) Heads() (list []otherheads.Head, votes bool) {
	for i := range s.g.dirs {
		if number := uint32(i + 1); number != s.self {
			list = append(list, otherheads.Head{Number: number, Voter: true})
		}
	}
	return list, true
}

func (s seat) Majority() int { return len(s.g.dirs)/2 + 1 }

func (s seat) Has(number uint32) bool {
	return number >= 1 && int(number) <= len(s.g.dirs) && number != s.self
}

func (s seat) Changed() <-chan struct{} {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	return s.g.changed
}

func (s seat) Dial(_ context.Context, number uint32) (net.Conn, error) {
	return s.g.dial(s.self, number)
}

func newGroup(t *testing.T, heads int) *group {
	g := &group{t: t, down: map[uint32]bool{}, over: map[ids.Job]bool{}, behind: map[uint32]bool{}, changed: make(chan struct{})}
	for range heads {
		g.dirs = append(g.dirs, t.TempDir())
		g.depots = append(g.depots, nil)
	}
	for i := range heads {
		g.open(uint32(i + 1))
	}
	t.Cleanup(g.served.Wait)
	return g
}

// open starts a head, perhaps again.
func (g *group) open(number uint32) {
	d, err := OpenDepot(DepotOptions{
		Dir: g.dirs[number-1], Log: quiet, Others: seat{g, number},
		Runs: func(job ids.Job) bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return !g.behind[number] && !g.over[job]
		},
		Fresh: func(context.Context) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			if len(g.down)*2 > len(g.dirs) {
				return errors.New("no head leads")
			}
			delete(g.behind, number)
			return nil
		},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(d.Close)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.depots[number-1] = d
}

func (g *group) set(down bool, numbers ...uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range numbers {
		if delete(g.down, n); down {
			g.down[n] = true
		}
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *group) dial(from, to uint32) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down[to] {
		return nil, fmt.Errorf("head %d is down", to)
	}
	near, far := net.Pipe()
	d := g.depots[to-1]
	g.served.Go(func() {
		defer far.Close()
		d.Serve(from, far)
	})
	return near, nil
}

func (g *group) leader() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.dirs {
		if !g.down[uint32(i+1)] {
			return uint32(i + 1)
		}
	}
	return 0
}

func (g *group) node(number uint32) *Store {
	s := NewStore(Options{Dir: filepath.Join(g.t.TempDir(), "packages"), Node: number, Log: quiet,
		Head: func(context.Context) (net.Conn, error) { return g.dial(number, g.leader()) }})
	g.t.Cleanup(s.Close)
	return s
}

// kept returns what each head has, without hashes.
func (g *group) kept(number uint32) string {
	return (&world{t: g.t, dir: g.dirs[number-1]}).kept()
}

const whole = "-00000001.job .tar"

func TestKeep_SeveralHeads_TheNextLeaderHasThePackage(t *testing.T) {
	g := newGroup(t, 3)
	g.behind[2], g.behind[3] = true, true // their states hear of the job later
	first, second := g.node(11), g.node(12)
	e := pack(t, first, one, folderWith(t, strings.Repeat("x", 3*block)))
	if kept := []string{g.kept(1), g.kept(2), g.kept(3)}; kept[0] != whole || kept[1] != whole && kept[2] != whole {
		t.Fatalf("the node was told that the package is kept, and the heads have %q", kept)
	}
	await.Within(t, 30*time.Second, "the third head has it, too", func() bool { return g.kept(2) == whole && g.kept(3) == whole })
	g.set(true, 1)
	got := place(t, second, one, e)
	if b, err := os.ReadFile(filepath.Join(got.Cwd, "main.py")); len(b) != 3*block || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestKeep_OneHeadIsDown_TheOtherTwoAreEnoughAndItCatchesUp(t *testing.T) {
	g := newGroup(t, 3)
	g.set(true, 3)
	pack(t, g.node(11), one, folderWith(t, "x"))
	if g.kept(1) != whole || g.kept(2) != whole || g.kept(3) != "" {
		t.Fatalf("the heads have %q, %q and %q", g.kept(1), g.kept(2), g.kept(3))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.depots[2].Follow(ctx)
	}()
	g.set(false, 3)
	await.Within(t, 30*time.Second, "the head that was down has it, too", func() bool { return g.kept(3) == whole })
	cancel()
	<-done
}

func TestKeep_NoMajority_TheNodeTriesUntilThereIsOne(t *testing.T) {
	g := newGroup(t, 3)
	g.set(true, 2, 3)
	c, err := g.dial(11, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := envOf(folderWith(t, "x"))
	h, size, err := packTo(f, &e.Packages[0])
	if err != nil {
		t.Fatal(err)
	}
	var later *laterError
	if err := offer(t.Context(), c, &request{what: askKeep, job: one, hash: h, size: size}, f); !errors.As(err, &later) || !strings.Contains(err.Error(), "2 heads with a vote have to keep the package, and 1 do so far") {
		t.Fatalf("one of three heads has it: %v", err)
	}
	first, tries := g.node(11), 0
	ask := first.o.Head
	first.o.Head = func(ctx context.Context) (net.Conn, error) {
		if tries++; tries == 3 {
			g.set(false, 2)
		}
		return ask(ctx)
	}
	pack(t, first, one, folderWith(t, "x"))
	if tries < 3 || g.kept(2) != whole {
		t.Errorf("after %d tries the second head has %q", tries, g.kept(2))
	}
}

func TestGet_HeadLacksIt_GetsItFromAnotherHeadOnce(t *testing.T) {
	g := newGroup(t, 3)
	g.set(true, 1)
	e := pack(t, g.node(11), one, folderWith(t, "x"))
	g.set(false, 1)
	if g.kept(1) != "" {
		t.Fatal("the first head has it already")
	}
	var all sync.WaitGroup
	for i := range 5 {
		s := g.node(uint32(20 + i))
		all.Go(func() {
			if _, err := s.Place(t.Context(), one, &e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if g.kept(1) != whole {
		t.Errorf("the first head has %q", g.kept(1))
	}
}

func TestGet_NobodyHasIt_IsMissingOnlyWhenAMajoritySaysSo(t *testing.T) {
	g := newGroup(t, 3)
	asks := func() error {
		c, err := g.dial(11, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return ask(t.Context(), c, &request{what: askGet, hash: Hash{1}}, nil)
	}
	if err := asks(); !errors.Is(err, ErrMissing) {
		t.Errorf("all heads lack it: %v", err)
	}
	g.set(true, 2)
	if err := asks(); !errors.Is(err, ErrMissing) {
		t.Errorf("two of three heads lack it: %v", err)
	}
	g.set(true, 3)
	var later *laterError
	if err := asks(); !errors.As(err, &later) || !strings.Contains(err.Error(), "head 3: head 3 is down") {
		t.Errorf("the two others cannot be asked: %v", err)
	}
}

func TestFollow_JobIsOver_ItsPackagesGoAndDoNotComeBack(t *testing.T) {
	g := newGroup(t, 2)
	pack(t, g.node(11), one, folderWith(t, "x"))
	g.mu.Lock()
	g.over[one] = true
	g.mu.Unlock()
	if err := g.depots[1].catchUp(); err != nil || g.kept(2) != "" || g.kept(1) != whole {
		t.Fatalf("%v; the heads have %q and %q", err, g.kept(1), g.kept(2))
	}
	if err := g.depots[1].catchUp(); err != nil || g.kept(2) != "" {
		t.Errorf("%v; it came back: %q", err, g.kept(2))
	}
}

func TestServe_NodeAsksWhatHeadsAsk_IsRefused(t *testing.T) {
	g := newGroup(t, 2)
	for _, what := range []byte{askStore, askFetch, askList} {
		c, err := g.dial(11, 1)
		if err != nil {
			t.Fatal(err)
		}
		var refused *refusedError
		if err = (&request{what: what, job: one, hash: Hash{1}, size: 1}).write(c); err == nil {
			_, _, err = readAnswer(c)
		}
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "only a head of the cluster may ask that") {
			t.Errorf("question %d: %v", what, err)
		}
		c.Close()
	}
}

func TestReadEntries_WhatMakesNoSense_IsRefused(t *testing.T) {
	for name, n := range map[string]int64{"too many": maxEntries + 1, "of another kind": -1} {
		near, far := net.Pipe()
		go func() {
			what := byte(sayList)
			if n < 0 {
				what, n = sayHave, 0
			}
			_ = answer(far, what, n, "")
		}()
		if list, err := readEntries(near); err == nil || !strings.Contains(err.Error(), "no list of packages") {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		near.Close()
		far.Close()
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	want := []entry{{Hash{1}, one}, {Hash{2}, two}}
	go func() { _ = sayEntries(far, want) }()
	if got, err := readEntries(near); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

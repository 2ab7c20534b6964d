package client

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// made is what the workers of these tests ran, by the names of tasks.
type made struct {
	worker *Client // the latest
	mu     sync.Mutex
	runs   []string
}

func (m *made) ran() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.runs, " ")
}

// large is a value for the store that says how often its task had run.
func large(text string) Value {
	return Value{Fmt: FmtBytes, Meta: []byte(text), Bufs: [][]byte{make([]byte, 1<<20)}}
}

// makes is a worker whose tasks return as many large values as they are to, with
// their names, their numbers and what they took.
func (d *fakeDaemon) makes(m *made) *Client {
	m.worker = d.worker(func(c *Client, it *Item) {
		m.mu.Lock()
		m.runs = append(m.runs, it.Tmpl.Name)
		n := 0
		for _, name := range m.runs {
			if name == it.Tmpl.Name {
				n++
			}
		}
		m.mu.Unlock()
		took := ""
		for _, f := range append([]Found{it.Args}, it.Deps...) {
			took += "," + meta(d.t, &f)
			if f.View != 0 {
				c.Release(Drop{View: f.View})
			}
		}
		var list []Value
		for i := range it.Tmpl.Returns {
			list = append(list, large(fmt.Sprintf("%s%d.%d%s", it.Tmpl.Name, i, n, took)))
		}
		_ = c.Reply(it.Token, list, 0)
	})
	return m.worker
}

// computed is a driver whose task "f" has returned large results.
func computed(t *testing.T, returns, retries int) (d *fakeDaemon, c *Client, m *made, list []ids.Object) {
	t.Helper()
	d, m = startDaemon(t), new(made)
	d.makes(m)
	c = d.driver()
	return d, c, m, results(t, c, tasks(t, c, "f", returns, retries), returns, "")
}

// tasks is a template of tasks with so many results and retries.
func tasks(t *testing.T, c *Client, name string, returns, retries int) int {
	t.Helper()
	id, err := c.NewTemplate(&Template{Kind: KindTask, Name: name, FID: []byte(fmt.Sprintf("%-16s", name)), Blob: []byte(name), Returns: returns, MaxRetries: retries})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// results submits a task, waits until its results are there, and names them.
func results(t *testing.T, c *Client, tm, n int, text string, deps ...ids.Object) (list []ids.Object) {
	t.Helper()
	first, _, err := c.Submit(&Call{Template: tm, Args: Value{Fmt: FmtPickle, Meta: []byte(text)}, Deps: deps})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		list = append(list, ids.NewObject(first.Count()+uint64(i), c.self, c.info.Job, uint32(i+1)))
	}
	for _, id := range list {
		waitFor(t, "the result is there", func() bool { ready, _ := c.Ready(id); return ready })
	}
	return list
}

// loses has the store lose its copies, as one does whose files were deleted.
func (d *fakeDaemon) loses(list ...ids.Object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range list {
		delete(d.objects, string(id[:]))
	}
}

// letGo lets go of these, and waits until nothing is kept.
func letGo(t *testing.T, c *Client, list ...ids.Object) {
	t.Helper()
	for _, id := range list {
		c.Release(Drop{Object: id})
	}
	waitFor(t, "nothing is owned or borrowed", func() bool { owned, borrowed := c.Holds(); return owned+borrowed == 0 })
}

// A lost result is computed again with what its task took, and so is what that
// was computed from, as far as it is lost, too. Nothing of it is kept longer than the results.
func TestLineage_ResultLost_ChainIsComputedAgain(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	c := d.driver()
	f, g, h := tasks(t, c, "f", 1, 3), tasks(t, c, "g", 1, 3), tasks(t, c, "h", 1, 3)
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("put")})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", MaxInline) // goes to the store, as an object of its own
	a := results(t, c, f, 1, text, put)[0]
	b := results(t, c, g, 1, "y", a)[0]
	z := results(t, c, h, 1, "z", b)[0]
	c.Release(Drop{Object: put})
	c.Release(Drop{Object: b})
	worker.unpinUnused() // it has looked at b
	d.loses(b, z)
	if got, want := get(t, c, z), "h0.2,z,g0.2,y,f0.1,"+text+",put"; got != want {
		t.Fatalf("got %.100q, want %.100q", got, want)
	}
	if got := m.ran(); got != "f g h g h" {
		t.Errorf("ran %q", got)
	}
	letGo(t, c, a, z)
}

// Of several results only those that are lost are written again.
func TestLineage_OneOfSeveralLost_OthersStay(t *testing.T) {
	d, c, m, list := computed(t, 4, 1)
	c.Release(Drop{Object: list[3]}) // nobody wants it any more
	waitFor(t, "it is let go", func() bool { owned, _ := c.Holds(); return owned == 3 })
	var again []string
	d.mu.Lock()
	d.first = func(m *wire.Message) bool {
		if m.Type == wire.TObjCreate {
			var q wire.ObjCreate
			_ = m.Decode(&q)
			again = append(again, string(q.ObjectID))
		}
		return false
	}
	d.mu.Unlock()
	d.loses(list[0], list[2])
	for i, want := range []string{"f0.2,", "f1.1,", "f2.2,"} {
		if got := get(t, c, list[i]); got != want {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
	d.mu.Lock()
	if want := []string{string(list[0][:]), string(list[2][:])}; !slices.Equal(again, want) {
		t.Errorf("%d results are written again, want the two that are lost", len(again))
	}
	d.mu.Unlock()
	if got := m.ran(); got != "f f" {
		t.Errorf("ran %q", got)
	}
	letGo(t, c, list[:3]...)
}

// A worker that finds an argument lost gives the task back; it runs when the argument was computed again.
func TestLineage_ArgumentLost_TaskRunsWhenItIsBack(t *testing.T) {
	d := startDaemon(t)
	var m made
	d.makes(&m)
	c := d.driver()
	f, g := tasks(t, c, "f", 1, 3), tasks(t, c, "g", 1, 0)
	a, b := results(t, c, f, 1, "a")[0], results(t, c, f, 1, "b")[0]
	d.loses(a)
	out := submitText(t, c, g, "y", b, a)
	if got := get(t, c, out); got != "g0.1,y,f0.2,b,f0.3,a" {
		t.Errorf("got %q", got)
	}
	if got := m.ran(); got != "f f f g" {
		t.Errorf("ran %q", got)
	}
	letGo(t, c, a, b, out)
}

// What cannot be computed again says why. The other results of the process stay as they are.
func TestLineage_NotToBeHad_SaysWhy(t *testing.T) {
	d := startDaemon(t)
	var m made
	d.makes(&m)
	c := d.driver()
	for name, x := range map[string]struct {
		retries int
		losses  int
		change  func(*submit.Lineage)
		code    fault.Code
		words   string
	}{
		"no retries":    {0, 1, func(*submit.Lineage) {}, fault.LostNoRetries, "was submitted without retries"},
		"all used":      {1, 2, func(*submit.Lineage) {}, fault.LostExhausted, "the maximum number of task retries has been exceeded"},
		"switched off":  {3, 1, func(l *submit.Lineage) { l.Off = true }, fault.LostLineageOff, "RAY_lineage_pinning_enabled is off"},
		"forgotten":     {3, 1, func(l *submit.Lineage) { l.Limit = 1 }, fault.LostEvicted, "was forgotten to save memory"},
		"computed ever": {-1, 3, func(*submit.Lineage) {}, "", ""},
	} {
		c.mu.Lock()
		c.submit.Settings.Lineage.Off, c.submit.Settings.Lineage.Limit = false, defaultLineageBytes
		x.change(&c.submit.Settings.Lineage)
		c.mu.Unlock()
		id := results(t, c, tasks(t, c, "f "+name, 1, x.retries), 1, "")[0]
		for i := range x.losses {
			c.unpinUnused() // what it has looked at needs no copy
			d.loses(id)
			text, code := outcome(t, c, id)
			if i < x.losses-1 || x.code == "" {
				if code != "" || text != fmt.Sprintf("f %s0.%d,", name, i+2) {
					t.Errorf("%s, loss %d: %q, %q", name, i+1, text, code)
				}
				continue
			}
			f, err := c.Get(id, testLimit)
			if err != nil || code != x.code || !strings.Contains(string(f.Envelope), x.words) {
				t.Errorf("%s: %q, %v", name, code, err)
			}
		}
		letGo(t, c, id)
	}
	v := large("put")
	put, err := c.Put(&v)
	if err != nil {
		t.Fatal(err)
	}
	c.unpinUnused()
	d.loses(put)
	if text, code := outcome(t, c, put); code != fault.LostPut {
		t.Errorf("what was put: %q, %q", text, code)
	}
	letGo(t, c, put)
}

// What the store says it lacks, and has when it is asked, is read; a store that
// says both again and again is no reason to wait for ever.
func TestLineage_StoreHasItAfterAll_ItIsRead(t *testing.T) {
	d, c, m, list := computed(t, 1, 3)
	id, fails := list[0], 3
	d.mu.Lock()
	d.first = func(m *wire.Message) bool {
		if m.Type != wire.TObjPin && m.Type != wire.TObjPins || fails == 0 {
			return false
		}
		fails--
		if m.Type == wire.TObjPins {
			_ = m.Reply(wire.ObjPlaces{})
			return true
		}
		_ = m.Fail(fault.New(fault.ObjectLost, "no such object"))
		return true
	}
	d.mu.Unlock()
	if got := get(t, c, id); got != "f0.1," {
		t.Errorf("got %q", got)
	}
	if got := m.ran(); got != "f" {
		t.Errorf("ran %q", got)
	}
	other := results(t, c, tasks(t, c, "g", 1, 3), 1, "")[0]
	d.mu.Lock()
	fails = -1
	d.mu.Unlock()
	if f, err := c.Get(other, testLimit); fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("a store that always lacks it: %+v, %v", f, err)
	}
	if got := m.ran(); got != "f g" {
		t.Errorf("ran %q", got)
	}
}

// A store that cannot be asked fails what is looked for.
func TestLineage_StoreCannotBeAsked_IsTold(t *testing.T) {
	d, c, m, list := computed(t, 1, 3)
	id := list[0]
	d.loses(id)
	d.answers(wire.TObjCheck, func(m *wire.Message) bool {
		_ = m.Fail(fault.New(fault.Internal, "the disk is gone"))
		return true
	})
	if text, code := outcome(t, c, id); code != fault.Internal || m.ran() != "f" {
		t.Errorf("%q, %q, ran %q", text, code, m.ran())
	}
}

// A borrower that finds the copy lost asks the owner, which computes it again.
func TestLineage_BorrowerFindsItLost_OwnerComputesItAgain(t *testing.T) {
	d, c, _, list := computed(t, 1, 3)
	other, id := d.driver(), list[0]
	addr, err := c.Export(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Import(id, addr, 0); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is there", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		o := other.table.Find(id)
		if o.State() == refs.Pending && !o.Asked() {
			other.table.Ask(o, false)
		}
		return o.State() == refs.Stored
	})
	d.loses(id)
	if got := get(t, other, id); got != "f0.2," {
		t.Errorf("got %q", got)
	}
	letGo(t, other, id)
	letGo(t, c, id)
}

// Settings bound what is kept for losses; a value that is no number is passed over.
func TestNewLineage_Settings(t *testing.T) {
	for _, x := range []struct {
		env   map[string]string
		arena uint64
		limit uint64
		bytes uint64
		off   bool
	}{
		{map[string]string{}, 400, defaultLineageBytes, 100, false},
		{map[string]string{"RAY_max_lineage_bytes": "70"}, 400, 70, 70, false},
		{map[string]string{"RAY_max_lineage_bytes": "many"}, 400, defaultLineageBytes, 100, false},
		{map[string]string{"RAY_max_lineage_bytes": "-1"}, 400, defaultLineageBytes, 100, false},
		{map[string]string{"RAY_lineage_pinning_enabled": "0"}, 400, defaultLineageBytes, 100, true},
		{map[string]string{"RAY_lineage_pinning_enabled": "False"}, 400, defaultLineageBytes, 100, true},
		{map[string]string{"RAY_lineage_pinning_enabled": "1"}, 400, defaultLineageBytes, 100, false},
	} {
		l := (&Client{opts: Options{Env: x.env}}).newLineage(x.arena)
		if l.Limit != x.limit || l.Bytes != x.bytes || l.Off != x.off {
			t.Errorf("%v: %+v", x.env, l)
		}
	}
}

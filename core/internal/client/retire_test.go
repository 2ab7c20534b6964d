package client

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/templates"
)

// runs answers with the bytes of the function that the worker was sent.
func runs(c *Client, it *Item) {
	blob, err := c.Function(it.Tmpl.FID)
	if err != nil {
		blob = []byte(err.Error())
	}
	c.Unload(it.Tmpl.FID)
	if err := c.Reply(it.Token, []Value{{Fmt: FmtPickle, Meta: blob}}, 0); err != nil {
		panic(err)
	}
}

func said(t *testing.T, c *Client, id ids.Object) string {
	t.Helper()
	f, err := c.Get(id, testLimit)
	if err != nil || f == nil {
		t.Fatalf("no answer: %v", err)
	}
	e, err := store.Parse(f.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.Meta)
}

// Functions come and go in any order; each call runs its own, and nothing is kept of the others.
func TestRetire_FunctionsComeAndGo_EachCallRunsItsOwn(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(runs)
	c := d.driver()
	r := rand.New(rand.NewPCG(1, 2))
	type made struct {
		tm   int
		name string
	}
	var live []made
	var open []ids.Object
	var want []string
	collect := func() {
		for i, id := range open {
			if got := said(t, c, id); got != want[i] {
				t.Fatalf("%q ran in place of %q", got, want[i])
			}
			c.Release(Drop{Object: id})
		}
		open, want = nil, nil
	}
	for n := range 600 {
		name := fmt.Sprintf("f%d", n)
		// Some share a function, some a class.
		tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: name, FID: []byte(fmt.Sprintf("%-16d", n/2)), Blob: []byte(fmt.Sprint("blob", n/2)), Returns: 1, MaxRetries: n % 3})
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, made{tm, fmt.Sprint("blob", n/2)})
		for range r.IntN(3) {
			x := live[r.IntN(len(live))]
			id, _, err := c.Submit(&Call{Template: x.tm})
			if err != nil {
				t.Fatal(err)
			}
			open, want = append(open, id), append(want, x.name)
		}
		for len(live) > 0 && r.IntN(2) == 0 { // with calls under way
			i := r.IntN(len(live))
			c.Retire(live[i].tm)
			live = slices.Delete(live, i, i+1)
		}
		if len(open) > 50 {
			collect()
		}
	}
	collect()
	for _, x := range live {
		c.Retire(x.tm)
	}
	if _, _, err := c.Submit(&Call{Template: live[0].tm}); err == nil {
		t.Error("a retired template can be called")
	}
	d.eventually("everything is let go of", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(c.submit.AllTemplates()) == 0 && len(c.submit.Classes) == 0 && len(c.submit.ByClass) == 0 && w.exec.Counts().Functions == 0
	})
	if n := len(c.submit.Templates); n > 500 {
		t.Errorf("%d numbers were used", n)
	}
	counted := uint64(0)
	for _, x := range c.submit.Endings.Retired {
		counted += x.Finished
	}
	if counted == 0 || len(c.submit.Endings.Retired) > templates.MaxEnds {
		t.Errorf("%d tasks of %d names are counted", counted, len(c.submit.Endings.Retired))
	}
}

// Lineage may run a function again that the program cannot call any more.
func TestRetire_LineageNeedsIt_ItStaysSoLong(t *testing.T) {
	d := startDaemon(t)
	d.worker(func(c *Client, it *Item) {
		v := Value{Fmt: FmtPickle, Meta: make([]byte, MaxInline+1)}
		if err := c.Reply(it.Token, []Value{v}, 0); err != nil {
			panic(err)
		}
	})
	c := d.driver()
	tm, err := c.NewTemplate(&Template{Kind: KindTask, Name: "f", FID: []byte("0123456789abcdef"), Blob: []byte("f"), Returns: 1, MaxRetries: 3})
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := c.Submit(&Call{Template: tm})
	if err != nil {
		t.Fatal(err)
	}
	said(t, c, id)
	c.Retire(tm)
	c.mu.Lock()
	if len(c.submit.AllTemplates()) != 1 {
		t.Error("what may run again was let go of")
	}
	c.mu.Unlock()
	c.Release(Drop{Object: id})
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.submit.AllTemplates()); n != 0 {
		t.Errorf("%d templates are kept for nothing", n)
	}
}

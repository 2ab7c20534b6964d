package submit

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// As many alternatives as are allowed are taken, and each has all that it does not change from the first choice.
func TestNewTemplate_MostAlternatives_EachIsComplete(t *testing.T) {
	c := newQuiet(t)
	var list []*Template
	for i := range wire.MaxAlternatives {
		o := &Template{Resources: map[string]int64{"CPU": int64(i)}}
		if i%2 == 1 {
			o.Name, o.FID, o.Blob = "other", []byte("other-of-sixteen"), []byte("b")
		}
		list = append(list, o)
	}
	id, err := c.NewTemplate(&Template{Name: "f", FID: []byte("fffffffffffffff1"), Blob: []byte("f"), Returns: 3, MaxRetries: 4, RetryErrs: true,
		EnvKey: "e", Strategy: "SPREAD", Fallback: list})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.Templates[id]
	numbers := map[int]bool{}
	for choice := range wire.MaxAlternatives + 1 {
		x := first.Choice(choice)
		if numbers[x.ID] || c.Templates[x.ID] != x {
			t.Errorf("choice %d has number %d", choice, x.ID)
		}
		numbers[x.ID] = true
		want := [3]string{"f", "fffffffffffffff1", "f"}
		if choice > 0 && choice%2 == 0 {
			want = [3]string{"other", "other-of-sixteen", "b"}
		}
		if got := [3]string{x.Name, string(x.FID), string(x.Blob)}; got != want {
			t.Errorf("choice %d runs %q, want %q", choice, got, want)
		}
		if x.Returns != 3 || x.MaxRetries != 4 || !x.RetryErrs || x.EnvKey != "e" || x.Strategy != "SPREAD" || x.Kind != frame.KindTask || choice > 0 && x.Fallback != nil {
			t.Errorf("choice %d: %+v", choice, x)
		}
	}
	if got, want := fmt.Sprint(len(first.Alternatives())), fmt.Sprint(wire.MaxAlternatives); got != want {
		t.Errorf("the daemon is told of %s alternatives, want %s", got, want)
	}
}

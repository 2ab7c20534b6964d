package inquiry

import (
	"testing"
	"time"
)

func TestPending_End_CancelsWhatWaitsAndWhatComesLater(t *testing.T) {
	var p Pending
	cancelled := make(chan string, 8)
	var answer func()
	waits := func(name string) func(func()) func() {
		return func(answered func()) func() {
			answer = answered
			return func() { cancelled <- name }
		}
	}
	p.Begin(waits("answered later"))
	answer()
	p.Begin(func(answered func()) func() {
		answered()
		return func() { cancelled <- "answered at once" }
	})
	if n := p.Len(); n != 0 {
		t.Errorf("%d questions wait that are answered", n)
	}
	p.Begin(waits("waits"))
	if n := p.Len(); n != 1 {
		t.Errorf("%d questions wait, want 1", n)
	}
	p.End()
	p.Begin(waits("later"))
	got := map[string]bool{}
	for range 2 {
		select {
		case name := <-cancelled:
			got[name] = true
		case <-time.After(10 * time.Second):
			t.Fatalf("cancelled are %v only", got)
		}
	}
	if !got["waits"] || !got["later"] || p.Len() != 0 {
		t.Errorf("cancelled are %v, and %d wait", got, p.Len())
	}
}

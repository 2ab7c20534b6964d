package notice

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Notes come in order; when a program does not read, so many are kept and the rest counted.
func TestNotes_KeptInOrder_TheRestCounted(t *testing.T) {
	var q Notes
	q.Init()
	if n := q.Next(0); n != nil {
		t.Errorf("got %+v", n)
	}
	for i := range maxNotes + 3 {
		q.Add(Note{Warning: fmt.Sprint(i)})
	}
	for i := range maxNotes {
		if n := q.Next(0); n == nil || n.Warning != fmt.Sprint(i) {
			t.Fatalf("note %d is %+v", i, n)
		}
	}
	if n := q.Next(0); n == nil || !strings.HasPrefix(n.Warning, "3 lines of output were dropped") {
		t.Errorf("got %+v", n)
	}
	if n := q.Next(time.Millisecond); n != nil {
		t.Errorf("got %+v", n)
	}
	go q.Add(Note{Closed: "over"})
	if n := q.Next(time.Minute); n == nil || n.Closed != "over" {
		t.Errorf("got %+v", n)
	}
}

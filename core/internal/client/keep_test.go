package client

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestKeep_LastReferenceGoes_Releases(t *testing.T) {
	c := startDaemon(t).driver()
	id, err := c.Put(&Value{})
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int32
	done := make(chan struct{}, 3)
	release := func() { count.Add(1); done <- struct{}{} }
	for range 2 {
		if err := c.Keep(id, release); err != nil {
			t.Fatal(err)
		}
	}
	if c.Export(id); count.Load() != 0 {
		t.Error("released while a reference is held")
	}
	c.mu.Lock()
	c.table.Unref(c.table.Find(id), 1)
	c.table.CarryOut()
	c.mu.Unlock()
	for range 2 {
		select {
		case <-done:
		case <-time.After(60 * time.Second):
			t.Fatal("not released")
		}
	}
	if c.Keep(id, release) == nil {
		t.Error("an object that is gone keeps something")
	}
}

package client

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// pending makes n objects that complete when the test says so.
func pendingObjects(c *Client, n int) (at []*ids.Object, objs []*refs.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		o := c.table.New(1, 1)
		objs = append(objs, o)
		id := o.ID
		at = append(at, &id)
	}
	return at, objs
}

func completeAll(c *Client, objs ...*refs.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range objs {
		c.table.Complete(o, refs.Inline, []byte{1}, 1, false)
	}
}

// awaitOpenWaits waits until n waits for many objects are under way.
func awaitOpenWaits(t *testing.T, c *Client, n int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d waits are under way", n), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(openWaits(c)) == n
	})
}

func TestSelect_SeveralWaitForTheSame_EachHearsWhatItNeeds(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 5)
	var wg sync.WaitGroup
	for need := 1; need <= 5; need++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			pick := make([]uint32, need)
			got, done, err := c.Select(list, need, testLimit, true, pick)
			if err != nil || !done || got != need {
				t.Errorf("of %d: got %d, done %v, %v", need, got, done, err)
			}
		}()
	}
	awaitOpenWaits(t, c, 5)
	for i := len(objs) - 1; i >= 0; i-- {
		completeAll(c, objs[i])
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(openWaits(c)) != 0 {
		t.Fatalf("%d waits are left", len(openWaits(c)))
	}
	for i, o := range objs {
		if len(o.Waits()) != 0 {
			t.Errorf("object %d is still waited for", i)
		}
	}
}

func TestSelect_EndsAtItsTimeout_LaterWaitsCountAnew(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 3)
	pick := make([]uint32, 3)
	if got, done, err := c.Select(list, 1, 10*time.Millisecond, true, pick); got != 0 || done || err != nil {
		t.Fatal(got, done, err)
	}
	completeAll(c, objs[0]) // it has the number of a wait that has ended
	if got, sure := c.SelectNow(list, 1, true, pick); got != 1 || !sure || pick[0] != 0 {
		t.Fatal(got, sure, pick)
	}
	end := make(chan int)
	go func() {
		got, _, _ := c.Select(list, 3, testLimit, true, pick)
		end <- got
	}()
	awaitOpenWaits(t, c, 1)
	completeAll(c, objs[1], objs[2])
	if got := <-end; got != 3 {
		t.Fatalf("got %d, want 3", got)
	}
}

func TestWait_SameObjectTwiceInAList_CountsTwice(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 1)
	end := make(chan bool)
	go func() {
		_, done, err := c.Wait([]ids.Object{*list[0], *list[0]}, 2, testLimit, WaitAll, func(int, bool) {})
		end <- done && err == nil
	}()
	awaitOpenWaits(t, c, 1)
	completeAll(c, objs[0])
	if !<-end {
		t.Fatal("the wait has not ended")
	}
}

func TestSelect_NothingElseCanBecomeReady_Ends(t *testing.T) {
	c := startDaemon(t).driver()
	list, objs := pendingObjects(c, 2)
	completeAll(c, objs[0])
	end := make(chan int)
	go func() {
		pick := make([]uint32, 2)
		got, _, _ := c.Select(list, 2, testLimit, true, pick)
		end <- got
	}()
	awaitOpenWaits(t, c, 1)
	c.mu.Lock()
	c.table.Infeasible(objs[1], fault.New(fault.TaskUnschedulable, "no node has it"))
	c.mu.Unlock()
	if got := <-end; got != 1 {
		t.Fatalf("got %d, want 1", got)
	}
}

func TestSelect_SessionEnds_Error(t *testing.T) {
	c := startDaemon(t).driver()
	list, _ := pendingObjects(c, 2)
	end := make(chan error)
	go func() {
		_, _, err := c.Select(list, 1, -1, true, make([]uint32, 1))
		end <- err
	}()
	awaitOpenWaits(t, c, 1)
	c.Close(0)
	if err := <-end; err == nil {
		t.Fatal("no error")
	}
}

// A wait for a million objects must not begin anew ten times a second to look after signals.
func TestSelect_LooksAfterSignals_BeginsOnce(t *testing.T) {
	looks, raises := make(chan struct{}, 100), false
	var mu sync.Mutex
	c := startDaemon(t).driverWith(Options{Signals: func() bool {
		looks <- struct{}{}
		mu.Lock()
		defer mu.Unlock()
		return raises
	}})
	list, objs := pendingObjects(c, 3)
	type end struct {
		got int
		err error
	}
	ended := make(chan end)
	wait := func() {
		got, _, err := c.Select(list, 3, -1, true, make([]uint32, 3))
		ended <- end{got, err}
	}
	go wait()
	<-looks
	<-looks
	completeAll(c, objs[1:]...)
	<-looks
	completeAll(c, objs[0])
	if e := <-ended; e.got != 3 || e.err != nil {
		t.Fatal(e)
	}
	c.mu.Lock()
	if n := c.table.WaitsBegun(); n != 1 {
		t.Errorf("the wait has begun %d times", n)
	}
	c.mu.Unlock()

	list, objs = pendingObjects(c, 3)
	mu.Lock()
	raises = true
	mu.Unlock()
	go wait()
	if e := <-ended; fault.CodeOf(e.err) != fault.Interrupted {
		t.Fatal(e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(openWaits(c)) != 0 {
		t.Errorf("%d waits are left", len(openWaits(c)))
	}
	for _, o := range objs {
		if o.State().Ready() {
			t.Error("it is ready")
		}
	}
}

package inquiry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a head that never answers: it waits until the request gives up.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestQueue_Requests_AreServedInOrderAndOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var order []int
		for i := range 100 {
			q.Add(t.Context(), func(context.Context) {
				time.Sleep(time.Millisecond)
				order = append(order, i) // without a lock: one at a time
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(order) != 100 || !slices.IsSorted(order) {
			t.Errorf("served %v", order)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.running || cap(q.list) > 0 {
			t.Errorf("an empty queue runs: %v, and keeps room for %d requests", q.running, cap(q.list))
		}
	})
}

// A head that does not answer costs a process one patience, however many requests it has made.
// A request that comes later waits as long as the others did.
func TestQueue_HeadIsSilent_AllRequestsEndAfterOnePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		began := time.Now()
		var ended []time.Duration
		add := func() {
			q.Add(t.Context(), func(ctx context.Context) {
				if err := silent(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ends with %v", err)
				}
				ended = append(ended, time.Since(began))
			})
		}
		for range 5 {
			add()
		}
		time.Sleep(10 * time.Second)
		add()
		time.Sleep(2 * Patience)
		synctest.Wait()
		want := append(slices.Repeat([]time.Duration{Patience}, 5), Patience+10*time.Second)
		if !slices.Equal(ended, want) {
			t.Errorf("the requests ended after %v, want %v", ended, want)
		}
	})
}

// A head that is slow and answers is waited for, however many requests there are before.
func TestQueue_HeadIsSlow_EveryRequestIsServedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		served := 0
		for range 10 {
			q.Add(t.Context(), func(ctx context.Context) {
				select {
				case <-ctx.Done():
					t.Errorf("request %d: %v", served, ctx.Err())
				case <-time.After(Patience - time.Second):
					served++
				}
			})
		}
		time.Sleep(10 * Patience)
		synctest.Wait()
		if served != 10 {
			t.Errorf("%d requests are served", served)
		}
	})
}

// A head that was silent and answers again is waited for as before.
func TestQueue_HeadAnswersAgain_LaterRequestsHaveTheWholePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		q.Add(t.Context(), func(ctx context.Context) { _ = silent(ctx) })
		time.Sleep(Patience + time.Second)
		left := time.Duration(0)
		q.Add(t.Context(), func(ctx context.Context) {
			until, _ := ctx.Deadline()
			left = time.Until(until)
		})
		synctest.Wait()
		if left != Patience {
			t.Errorf("the next request may wait for %v, want %v", left, Patience)
		}
	})
}

// When the daemon ends, what waits for the head ends with it.
func TestQueue_DaemonEnds_RequestsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		ctx, end := context.WithCancel(t.Context())
		began, ended := time.Now(), 0
		for range 3 {
			q.Add(ctx, func(ctx context.Context) {
				if err := silent(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("it ends with %v", err)
				}
				ended++
			})
		}
		time.Sleep(time.Second)
		end()
		synctest.Wait()
		if d := time.Since(began); ended != 3 || d != time.Second {
			t.Errorf("%d requests have ended after %v", ended, d)
		}
	})
}

// A process with very many requests waits, and goes on when half of them are served.
func TestQueue_VeryMany_AddWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		serve := make(chan struct{})
		one := func(context.Context) { <-serve }
		for range maxQueued + 1 { // one of them is being served
			q.Add(t.Context(), one)
			synctest.Wait()
		}
		added := false
		go func() {
			q.Add(t.Context(), one)
			added = true
		}()
		synctest.Wait()
		for range maxQueued / 2 {
			serve <- struct{}{}
		}
		if synctest.Wait(); added {
			t.Error("there is room while half of the requests wait")
		}
		serve <- struct{}{}
		if synctest.Wait(); !added {
			t.Error("there is no room although less than half of the requests wait")
		}
		close(serve)
	})
}

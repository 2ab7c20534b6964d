package client

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A program that does not ask what was cancelled is interrupted again, less and less
// often, but each second at least. When it has asked, or has left, it is left alone.
func TestInsist_ProgramDoesNotAsk_IsInterruptedAgainUntilItDoes(t *testing.T) {
	ends := map[string]func(c *Client){
		"the program asks": func(c *Client) { c.CurrentCancelled() },
		"the session has ended": func(c *Client) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.closed = true
		},
		"it asks for the second": func(c *Client) { c.CurrentCancelled(); c.CurrentCancelled() },
	}
	for what, end := range ends {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var at []time.Duration
			c := &Client{opts: Options{Interrupt: func() { at = append(at, time.Since(began)) }}}
			c.exec = &executor{c: c, canceled: []*call{{}}}
			if what == "it asks for the second" {
				c.exec.canceled = append(c.exec.canceled, &call{})
			}
			c.mu.Lock()
			c.exec.insist(10 * time.Millisecond)
			c.mu.Unlock()
			time.Sleep(3500 * time.Millisecond)
			synctest.Wait()
			want := []time.Duration{10, 30, 70, 150, 310, 630, 1270, 2270, 3270}
			for i := range want {
				want[i] *= time.Millisecond
			}
			if !slices.Equal(at, want) {
				t.Errorf("%s: the program was interrupted after %v, want %v", what, at, want)
			}
			end(c)
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(at) != len(want) {
				t.Errorf("%s: afterwards the program is interrupted %d times more", what, len(at)-len(want))
			}
		})
	}
}

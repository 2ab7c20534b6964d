package guests

import (
	"testing"
	"testing/synctest"
	"time"
)

// The way to a node is as long as its daemon needs for an answer, whichever answer came sooner; what a daemon that was
// stopped has taken is not believed.
func TestRoundTrip_TheQuickerOfTwoAnswers(t *testing.T) {
	for _, x := range []struct{ hello, answer, want time.Duration }{
		{20 * time.Millisecond, 0, 0},
		{20 * time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond},
		{20 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond},
		{time.Minute, 2 * time.Minute, longestWay},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t)
			s.hello, s.answers = x.hello, x.answer
			s.push(2, 1)
			time.Sleep(x.hello + x.answer)
			synctest.Wait()
			s.do(func() {
				if got := s.g.RoundTrip(2); got != x.want || s.g.RoundTrip(3) != 0 {
					t.Errorf("hello %v, answer %v: the way to the node takes %v, and to an unknown one %v", x.hello, x.answer, got, s.g.RoundTrip(3))
				}
			})
			s.daemons[0].Close()
			synctest.Wait()
			s.do(func() {
				if got := s.g.RoundTrip(2); got != 0 {
					t.Errorf("the way to a node that was lost takes %v", got)
				}
			})
			s.end()
		})
	}
}

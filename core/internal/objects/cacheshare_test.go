package objects

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestShareOf_FollowsTheMemory_LooksOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, available := 0, uint64(8<<30)
		share := shareOf(func() uint64 { looks++; return available }, 0.25)
		if got := share(); got != 2<<30 {
			t.Errorf("%d of %d bytes", got, available)
		}
		available = 0
		if got := share(); got != 2<<30 || looks != 1 {
			t.Errorf("%d bytes after %d looks", got, looks)
		}
		time.Sleep(cacheLook)
		if got := share(); got != 0 || looks != 2 {
			t.Errorf("%d bytes after %d looks, when there is no memory", got, looks)
		}
	})
}

package inquiry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errAway = errors.New("the head is away")

func TestWhileHeard_HeadIsSilent_EndsWithTheReasonWithin10Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, done := WhileHeard(t.Context(), func() error { return errAway })
		defer done()
		<-ctx.Done()
		if took := time.Since(began); took != StartPatience || took >= 10*time.Second || !errors.Is(context.Cause(ctx), errAway) {
			t.Errorf("it ended after %v with %v", took, context.Cause(ctx))
		}
	})
}

func TestWhileHeard_HeadFallsSilentLater_EndsThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, done := WhileHeard(t.Context(), func() error {
			if time.Since(began) < 20*time.Second {
				return nil
			}
			return errAway
		})
		defer done()
		<-ctx.Done()
		if took := time.Since(began); took < 20*time.Second || took > 21*time.Second || !errors.Is(context.Cause(ctx), errAway) {
			t.Errorf("it ended after %v with %v", took, context.Cause(ctx))
		}
	})
}

// A head that was away and is heard again, or one that is slow, is waited for; so is one in the daemon's own process.
func TestWhileHeard_HeadIsHeard_GoesOnUntilDone(t *testing.T) {
	for name, silent := range map[string]func() error{"heard": func() error { return nil }, "in this process": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, done := WhileHeard(t.Context(), silent)
				select {
				case <-ctx.Done():
					t.Errorf("it ended with %v", context.Cause(ctx))
				case <-time.After(10 * StartPatience):
				}
				done()
				if synctest.Wait(); ctx.Err() == nil { // a goroutine that is left fails the test
					t.Error("it goes on")
				}
			})
		})
	}
}

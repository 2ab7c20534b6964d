package process

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// signs signs with an authority.
func signs(a *pki.Authority) func([]byte, pki.Identity) ([]byte, [][]byte, error) {
	return func(request []byte, id pki.Identity) ([]byte, [][]byte, error) {
		cert, err := a.Sign(request, id, time.Now())
		return cert, [][]byte{a.Certificate()}, err
	}
}

func TestCertificate_HalfOfItsTimeIsOver_IsRenewedAndAFailureIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		self := pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead}
		authority, err := pki.NewAuthority(self.Cluster, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c, err := OwnCertificate(self, signs(authority))
		if err != nil {
			t.Fatal(err)
		}
		sign := c.next
		var count atomic.Int32
		c.next = func(ctx context.Context) error {
			if count.Add(1) == 1 {
				return errors.New("the head is away")
			}
			return sign(ctx)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Renew(ctx, slog.New(slog.DiscardHandler))
		}()
		first := c.keys.RenewAt()
		time.Sleep(time.Until(first) - time.Minute)
		if attempts := count.Load(); attempts != 0 {
			t.Errorf("%d attempts before half of the time", attempts)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if attempts := count.Load(); attempts != 1 || !c.keys.RenewAt().Equal(first) {
			t.Errorf("%d attempts at half of the time, and the next one at %v", attempts, c.keys.RenewAt())
		}
		time.Sleep(renewPause)
		synctest.Wait()
		if attempts, second := count.Load(), c.keys.RenewAt(); attempts != 2 || second.Sub(first) < 10*24*time.Hour {
			t.Errorf("%d attempts, and the certificates are renewed at %v and %v", attempts, first, second)
		}
		time.Sleep(10 * 24 * time.Hour)
		if attempts := count.Load(); attempts != 2 {
			t.Errorf("%d attempts with a new certificate", attempts)
		}
		cancel()
		<-done
	})
}

func TestCertificate_None_NothingIsRenewed(t *testing.T) {
	var c *Certificate
	if err := c.Now(t.Context()); err != nil {
		t.Error(err)
	}
	c.Renew(t.Context(), slog.Default())
	if c.TLS() != nil {
		t.Error("there is TLS without a certificate")
	}
}

// The clock of a process that is weeks ahead of the signer's makes it ask at its pauses, and not without end.
func TestCertificate_ClockIsWeeksAhead_IsRenewedAtPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		self := pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead}
		behind := -20 * 24 * time.Hour
		authority, err := pki.NewAuthority(self.Cluster, time.Now().Add(behind))
		if err != nil {
			t.Fatal(err)
		}
		keys, err := pki.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		sign := func(context.Context) error {
			count++
			request, err := keys.Request()
			if err != nil {
				return err
			}
			cert, err := authority.Sign(request, self, time.Now().Add(behind))
			if err == nil {
				_, err = keys.Install(cert, [][]byte{authority.Certificate()})
			}
			return err
		}
		if err := sign(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := NewCertificate(keys, func(ctx context.Context) error {
			if count > 1000 {
				return errors.New("it asks without end")
			}
			return sign(ctx)
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Renew(ctx, slog.New(slog.DiscardHandler))
		}()
		time.Sleep(time.Hour + time.Minute)
		cancel()
		<-done
		if count != 8 { // the first one, one at once, and one at each of six pauses
			t.Errorf("%d certificates within an hour", count)
		}
	})
}

package cli

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// tlsConfig is pki.Keys.TLS; nil without TLS.
type tlsConfig = func(protocols ...string) *tls.Config

// certificate is the certificate that a process of the cluster shows, and how it gets the next one.
type certificate struct {
	keys *pki.Keys
	next func(ctx context.Context) error // installs a new certificate in the keys
}

// ownCertificate returns the certificate that a head signs for itself; nil without an authority.
func ownCertificate(a *pki.Authority, self pki.Identity) (*certificate, error) {
	if a == nil {
		return nil, nil
	}
	keys, err := pki.NewKeys()
	if err != nil {
		return nil, err
	}
	c := &certificate{keys: keys}
	c.next = func(context.Context) error {
		request, err := keys.Request()
		if err != nil {
			return err
		}
		cert, err := a.Sign(request, self, time.Now())
		if err == nil {
			_, err = keys.Install(cert, [][]byte{a.Certificate()})
		}
		return err
	}
	return c, c.next(context.Background())
}

// tls returns what link.Config.TLS is to be; nil without TLS.
func (c *certificate) tls() tlsConfig {
	if c == nil {
		return nil
	}
	return c.keys.TLS
}

// renewPause is how long a process waits after it has not got a new certificate. It has 15 days.
const renewPause = 10 * time.Minute

// renew gets a new certificate whenever half of the time of the present one is over, until the context ends.
func (c *certificate) renew(ctx context.Context, log *slog.Logger) {
	if c == nil {
		return
	}
	wait := time.Until(c.keys.RenewAt())
	for {
		timer := time.NewTimer(max(wait, 0))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := c.next(ctx); err != nil {
			log.Warn("no new certificate; the present one is used on", "error", err)
			wait = renewPause
			continue
		}
		wait = time.Until(c.keys.RenewAt())
	}
}

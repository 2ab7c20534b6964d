package process

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// Certificate is the certificate that a process of the cluster shows, and how it gets the next one.
type Certificate struct {
	keys *pki.Keys
	next func(ctx context.Context) error // installs a new certificate in the keys
}

// NewCertificate returns the certificate that the keys have. next installs a new one in them.
func NewCertificate(keys *pki.Keys, next func(ctx context.Context) error) *Certificate {
	return &Certificate{keys, next}
}

// OwnCertificate returns the certificate that a head signs for itself.
func OwnCertificate(self pki.Identity, sign func(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, err error)) (*Certificate, error) {
	keys, err := pki.NewKeys()
	if err != nil {
		return nil, err
	}
	c := &Certificate{keys: keys}
	c.next = func(context.Context) error {
		request, err := keys.Request()
		if err != nil {
			return err
		}
		cert, authorities, err := sign(request, self)
		if err == nil {
			_, err = keys.Install(cert, authorities)
		}
		return err
	}
	return c, c.next(context.Background())
}

// Now gets a new certificate at once.
func (c *Certificate) Now(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c.next(ctx)
}

// TLS returns what link.Config.TLS is to be; nil without TLS.
func (c *Certificate) TLS() func(protocols ...string) *tls.Config {
	if c == nil {
		return nil
	}
	return c.keys.TLS
}

// renewPause is how long a process waits at least after it has asked for a new certificate. It has 15 days. If its clock is weeks ahead
// of the head's, half of the time of each new certificate is over already.
const renewPause = 10 * time.Minute

// Renew gets a new certificate whenever half of the time of the present one is over, until the context ends.
func (c *Certificate) Renew(ctx context.Context, log *slog.Logger) {
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
		wait = max(time.Until(c.keys.RenewAt()), renewPause)
	}
}

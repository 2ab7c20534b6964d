package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/raftstate"
)

// authority opens the cluster's authority in the copy of the head's state.
func (a *attacker) authority() (*pki.Authority, error) {
	if a.state == "" {
		return nil, errors.New("-state: the attack needs a copy of the head's state")
	}
	stored, err := raftlog.Open(a.state, raftlog.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	defer stored.Close()
	state, err := raftstate.Open(raftstate.Options{ID: stored.ID(), Stores: stored.Stores()})
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	defer state.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for from := state.Now(); ; {
		if sealed, known := state.Setting(trust.Setting); known {
			ring, err := pki.OpenKeyring(sealed, a.token)
			if err != nil {
				return nil, err
			}
			return ring.Signer(), nil
		}
		batch, err := state.Watch(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("-state: wait for the authority: %w", err)
		}
		from = batch.Next
	}
}

// seeds prints what must be found nowhere: the private key of the authority, in hexadecimal digits. It is for a test that looks for it.
func (a *attacker) seeds() error {
	authority, err := a.authority()
	if err != nil {
		return err
	}
	fmt.Println(authority.Seed())
	return nil
}

// signed returns a certificate for a key of this program.
func signed(by *pki.Authority, id pki.Identity, at time.Time) (tls.Certificate, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := by.Sign(request, id, at)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// shown dials a port as a member with a certificate, and reports whether it was let in: whether a greeting was accepted. to is the number that the
// greeting means.
func shown(p port, to uint32, from pki.Identity, certificate tls.Certificate) (in bool, answer string, err error) {
	return shownFor(forLink, p, to, from, certificate)
}

// shownFor is shown with a greeting for a purpose.
func shownFor(purpose byte, p port, to uint32, from pki.Identity, certificate tls.Certificate) (in bool, answer string, err error) {
	nc, err := dial(p)
	if err != nil {
		return false, "", err
	}
	defer nc.Close()
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{link.Protocol}, Certificates: []tls.Certificate{certificate}})
	_ = c.SetDeadline(time.Now().Add(patience))
	if err := c.Handshake(); err != nil {
		return false, err.Error(), nil
	}
	said := greeting(from.Number, to, 0, 1)
	if purpose != forLink {
		said = greetingOf(purpose, to, nil)
	}
	_, _ = c.Write(said)
	var head [3]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return false, err.Error(), nil
	}
	text := make([]byte, int(head[1])|int(head[2])<<8)
	_, _ = io.ReadFull(c, text)
	return head[0] == greetingAccepted || head[0] == greetingStale, string(text), nil
}

// certificates shows certificates that are wrong in one way each. One that is right is let in, so the others fail for what is wrong with them.
func (a *attacker) certificates() error {
	authority, member, err := a.inside()
	if err != nil {
		return err
	}
	now := time.Now()
	id := member.Identity
	other, err := pki.NewAuthority(id.Cluster, now)
	if err != nil {
		return err
	}
	elsewhere := id
	elsewhere.Cluster = pki.NewCluster()
	otherCluster, err := pki.NewAuthority(elsewhere.Cluster, now)
	if err != nil {
		return err
	}
	generation := id
	generation.Generation += 7
	const month = 30 * 24 * time.Hour
	type show struct {
		name string
		by   *pki.Authority
		id   pki.Identity
		at   time.Time
	}
	shows := []show{
		{"foreign", other, id, now},
		{"of another cluster", otherCluster, elsewhere, now},
		{"expired", authority, id, now.Add(-2 * month)},
		{"not valid yet", authority, id, now.Add(month)},
		{"of another generation", authority, generation, now},
	}
	try := func(p port, name string, from pki.Identity, certificate tls.Certificate, want bool) error {
		a.count(name, 1)
		in, answer, err := shown(p, p.number, from, certificate)
		if err == nil && in != want {
			a.breach("certificate %s: the %s port lets it in: %v, must be %v; it says %q", name, p.kind, in, want, answer)
		}
		return err
	}
	for first := true; first || time.Now().Before(a.end); first = false {
		for _, p := range a.linked() {
			right, err := signed(authority, id, now)
			if err != nil {
				return err
			}
			if err := try(p, "that is right", id, right, true); err != nil {
				return err
			}
			for _, s := range shows {
				if s.id == generation && p.kind != "head" {
					continue // nodes live on through a recovery of the heads, and so do the others
				}
				wrong, err := signed(s.by, s.id, s.at)
				if err == nil {
					err = try(p, s.name, s.id, wrong, false)
				}
				if err != nil {
					return err
				}
			}
			chain := right
			chain.Certificate = [][]byte{right.Certificate[0], authority.Certificate()}
			if err := try(p, "with a chain", id, chain, false); err != nil {
				return err
			}
			stolen := right // somebody else's certificate, without the key
			_, stolen.PrivateKey, _ = ed25519.GenerateKey(nil)
			if err := try(p, "without its key", id, stolen, false); err != nil {
				return err
			}
		}
	}
	return a.revoked(authority)
}

// revokedSoon is how long a member may be let in after it was revoked.
const revokedSoon = 5 * time.Second

// revoked joins, is revoked, and shows the certificate that was right until then.
func (a *attacker) revoked(authority *pki.Authority) error {
	member, err := a.joined()
	if err != nil {
		return err
	}
	certificate, err := signed(authority, member.Identity, time.Now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := a.client(a.heads()...).Admin(ctx, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: fmt.Sprint(member.Identity.Number)}); err != nil {
		return fmt.Errorf("revoke the member of this program: %w", err)
	}
	for _, p := range a.linked() {
		for end := time.Now().Add(revokedSoon); ; {
			a.count("revoked", 1)
			in, _, err := shown(p, p.number, member.Identity, certificate)
			if err != nil {
				return err
			}
			if !in {
				break
			}
			if time.Now().After(end) {
				a.breach("certificate that was revoked: the %s port lets it in %v later", p.kind, revokedSoon)
				break
			}
		}
	}
	return nil
}

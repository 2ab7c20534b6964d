package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func newAuthority(t testing.TB, c Cluster) *Authority {
	t.Helper()
	a, err := NewAuthority(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// member returns keys with a certificate of the authority.
func member(t testing.TB, a *Authority, role Role, number uint32) *Keys {
	t.Helper()
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	enroll(t, k, a, Identity{Cluster: a.Cluster(), Role: role, Number: number}, time.Now())
	return k
}

func request(t testing.TB, k *Keys) []byte {
	t.Helper()
	csr, err := k.Request()
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

// enroll gives keys a certificate that is signed at the given time.
func enroll(t testing.TB, k *Keys, a *Authority, id Identity, now time.Time) {
	t.Helper()
	cert, err := a.Sign(request(t, k), id, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Install(cert, [][]byte{a.Certificate()})
	if err != nil || got != id {
		t.Fatalf("installed %v, %v, want %v", got, err, id)
	}
}

func TestSign_Certificate_SaysItsIdentityForThirtyDaysFromTwoDaysAgo(t *testing.T) {
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	a, err := NewAuthority(Cluster{1}, now)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	id := Identity{Cluster: Cluster{1}, Generation: 3, Role: RoleGateway, Number: 1 << 31}
	der, err := a.Sign(request(t, k), id, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if want := now.Add(-48 * time.Hour); !c.NotBefore.Equal(want) || !c.NotAfter.Equal(want.Add(30*24*time.Hour)) {
		t.Errorf("valid from %v to %v", c.NotBefore, c.NotAfter)
	}
	if got, err := identityOf(c); err != nil || got != id {
		t.Errorf("identity %v, %v", got, err)
	}
	if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("it may sign others: CA %v, usage %b", c.IsCA, c.KeyUsage)
	}
	if !a.cert.IsCA || !a.cert.MaxPathLenZero {
		t.Error("the authority's certificate is none of an authority, or allows authorities below it")
	}
}

func TestSign_RequestThatIsNoneOfOurs_IsRefused(t *testing.T) {
	a := newAuthority(t, Cluster{1})
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	good, id := request(t, k), Identity{Cluster: Cluster{1}, Role: RoleNode, Number: 1}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, other)
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Clone(good)
	forged[len(forged)-1] ^= 1 // of the signature
	for name, csr := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-1], "longer": append(bytes.Clone(good), 0), "another kind of key": kind,
		"signed by another key": forged, "large": make([]byte, maxRequest+1),
	} {
		if _, err := a.Sign(csr, id, time.Now()); !errors.Is(err, ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, id := range map[string]Identity{
		"another cluster": {Cluster: Cluster{2}, Role: RoleNode}, "no role": {Cluster: Cluster{1}}, "unknown role": {Cluster: Cluster{1}, Role: "admin"},
	} {
		if _, err := a.Sign(good, id, time.Now()); !errors.Is(err, ErrBadIdentity) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInstall_CertificateOfAnother_IsRefusedAndNothingChanges(t *testing.T) {
	a, other := newAuthority(t, Cluster{1}), newAuthority(t, Cluster{1})
	k, thief := member(t, a, RoleNode, 1), member(t, a, RoleNode, 2)
	id := Identity{Cluster: Cluster{1}, Role: RoleNode, Number: 1}
	sign := func(by *Authority, k *Keys, now time.Time) []byte {
		der, err := by.Sign(request(t, k), id, now)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	roots := [][]byte{a.Certificate()}
	good := sign(a, k, time.Now())
	before := k.now.Load()
	for name, c := range map[string]struct {
		cert  []byte
		roots [][]byte
	}{
		"for another key":      {sign(a, thief, time.Now()), roots},
		"of another authority": {sign(other, k, time.Now()), roots},
		"over":                 {sign(a, k, time.Now().Add(-30*24*time.Hour)), roots},
		"of days after":        {sign(a, k, time.Now().Add(49*time.Hour)), roots},
		"the authority's own":  {a.Certificate(), roots},
		"no certificate":       {nil, roots},
		"no authority":         {good, nil},
		"many authorities":     {good, [][]byte{roots[0], roots[0], roots[0], roots[0], roots[0]}},
		"a broken authority":   {good, [][]byte{roots[0], {1}}},
	} {
		if _, err := k.Install(c.cert, c.roots); !errors.Is(err, ErrCertificate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if k.now.Load() != before {
		t.Error("a certificate that was refused is in use")
	}
	if _, err := k.Install(good, [][]byte{other.Certificate(), a.Certificate()}); err != nil {
		t.Errorf("one of two authorities: %v", err)
	}
	if got, want := k.RenewAt(), time.Now().Add(13*24*time.Hour); got.Sub(want).Abs() > time.Hour {
		t.Errorf("renewed at %v, want the middle of its time, %v", got, want)
	}
	if at := (&Keys{}).RenewAt(); !at.IsZero() {
		t.Errorf("renewed at %v without a certificate", at)
	}
}

func TestIdentityOf_OtherNames_AreRefused(t *testing.T) {
	good := Identity{Role: RoleNode, Number: 1}
	mine := good.url()
	foreign, err := url.Parse("https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*x509.Certificate{
		"none": {}, "two": {URIs: []*url.URL{mine, mine}}, "foreign": {URIs: []*url.URL{foreign}},
		"a host beside": {URIs: []*url.URL{mine}, DNSNames: []string{"h"}}, "an address beside": {URIs: []*url.URL{mine}, IPAddresses: []net.IP{{1, 2, 3, 4}}},
		"a mailbox beside": {URIs: []*url.URL{mine}, EmailAddresses: []string{"a@b"}},
	} {
		if _, err := identityOf(c); !errors.Is(err, ErrBadIdentity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := identityOf(&x509.Certificate{URIs: []*url.URL{mine}}); err != nil || got != good {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNewKeys_EachHasItsOwn(t *testing.T) {
	a, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewKeys()
	if err != nil || a.key.Equal(b.key) || len(a.key) != ed25519.PrivateKeySize {
		t.Errorf("two processes have one key: %v", err)
	}
	if one, other := NewCluster(), NewCluster(); one == other {
		t.Error("two clusters have one name")
	}
}

// FuzzIdentity reads names of certificates: an identity has one spelling.
func FuzzIdentity(f *testing.F) {
	f.Add(Identity{Cluster: Cluster{1, 2}, Generation: 7, Role: RoleHead, Number: 1<<32 - 1}.String())
	f.Add("eagleray://00/0/node/1")
	f.Add("eagleray://" + strings.Repeat("0", 32) + "/01/node/+1")
	f.Add("eagleray://" + strings.Repeat("A", 32) + "/1/node/1")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseIdentity(text)
		if err == nil && id.String() != text {
			t.Fatalf("%q was read as %v", text, id)
		}
		if err != nil && (id != Identity{} || !errors.Is(err, ErrBadIdentity)) {
			t.Fatalf("%q: %v, %v", text, id, err)
		}
	})
}

func TestInstall_CertificateOfAnotherTime_AsksForTheClocks(t *testing.T) {
	for _, when := range []time.Duration{-40 * 24 * time.Hour, 40 * 24 * time.Hour} {
		now := time.Now().Add(when)
		a, err := NewAuthority(Cluster{1}, now)
		if err != nil {
			t.Fatal(err)
		}
		k, err := NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		cert, err := a.Sign(request(t, k), Identity{Cluster: Cluster{1}, Role: RoleNode, Number: 1}, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Install(cert, [][]byte{a.Certificate()}); !errors.Is(err, ErrCertificate) || !strings.Contains(err.Error(), "the clocks of the two machines are days apart") {
			t.Errorf("signed %v from now: %v", when, err)
		}
	}
}

// A clock may be wrong by a day, and jump by a day: certificates that were signed by it are accepted all the same.
func TestInstall_ClockOfTheSignerIsADayOff_MembersConnect(t *testing.T) {
	for _, off := range []time.Duration{-25 * time.Hour, 25 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			a, err := NewAuthority(Cluster{1}, time.Now().Add(off))
			if err != nil {
				t.Fatal(err)
			}
			client, server := newKeys(t), newKeys(t)
			enroll(t, client, a, Identity{Cluster: Cluster{1}, Role: RoleNode, Number: 1}, time.Now().Add(off))
			enroll(t, server, a, Identity{Cluster: Cluster{1}, Role: RoleHead, Number: 2}, time.Now().Add(-off)) // its clock has jumped since
			x, y := net.Pipe()
			defer x.Close()
			defer y.Close()
			if _, err := meet(t, x, y, client.TLS("link"), server.TLS("link")); err != nil {
				t.Errorf("signed %v and %v from now: %v", off, -off, err)
			}
			if left := time.Until(client.RenewAt()); left < 10*24*time.Hour {
				t.Errorf("signed %v from now, and renewed in %v", off, left)
			}
		})
	}
}

func newKeys(t *testing.T) *Keys {
	t.Helper()
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

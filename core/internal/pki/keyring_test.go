package pki

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func newRing(t testing.TB, token Token) *Keyring {
	t.Helper()
	k, err := NewKeyring(Cluster{9}, token, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t testing.TB, k *Keyring) []byte {
	t.Helper()
	b, err := k.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// must returns what a change has made.
func must(t *testing.T) func(k *Keyring, err error) *Keyring {
	return func(k *Keyring, err error) *Keyring {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
}

func TestKeyring_OpenedWithEachToken_IsTheSame(t *testing.T) {
	do, now := must(t), time.Now()
	k := newRing(t, fixed(1))
	k = do(do(k.AddToken(fixed(2))).AddAuthority(now))
	k = do(k.Revoke(7, "it was lost", now))
	sealed := seal(t, k)
	for _, token := range []Token{fixed(1), fixed(2)} {
		b, err := OpenKeyring(sealed, token)
		if err != nil {
			t.Fatal(err)
		}
		if b.Cluster != k.Cluster || b.Version != k.Version || len(b.Tokens) != 2 || len(b.Authorities) != 2 || b.Signing != 0 || !b.IsRevoked(7) || b.IsRevoked(8) {
			t.Errorf("another one: %+v", b)
		}
		for i, a := range b.Authorities {
			if !a.key.Equal(k.Authorities[i].key) || !bytes.Equal(a.Certificate(), k.Authorities[i].Certificate()) {
				t.Errorf("authority %d is another one", i)
			}
			if !b.Tokens[i].equal(k.Tokens[i]) || b.Tokens[i].From() != k.Tokens[i].From() {
				t.Errorf("token %d is another one", i)
			}
		}
		m := member(t, b.Signer(), RoleNode, 1)
		enroll(t, m, k.Signer(), Identity{Cluster: Cluster{9}, Role: RoleNode, Number: 2}, now)
	}
	if bytes.Equal(sealed, seal(t, k)) {
		t.Error("sealed twice it is the same bytes: the nonces repeat")
	}
	if secret := fixed(2).key(); bytes.Contains(sealed, secret[:]) || bytes.Contains(sealed, k.Authorities[0].key.Seed()) || bytes.Contains(sealed, []byte("tokens")) {
		t.Error("what is sealed can be read")
	}
	plain, err := NewKeyring(Cluster{9}, fixed(1), true, now)
	if err != nil || plain.Signer() != nil || plain.Certificates() != nil {
		t.Fatal(err)
	}
	if b, err := OpenKeyring(seal(t, plain), fixed(1)); err != nil || b.Signer() != nil {
		t.Errorf("without TLS: %v", err)
	}
}

func TestOpenKeyring_OtherTokenOrChangedBytes_Fails(t *testing.T) {
	sealed := seal(t, newRing(t, fixed(1)))
	_, err := OpenKeyring(sealed, fixed(2))
	if !errors.Is(err, ErrSealed) || !strings.Contains(err.Error(), "file 2") {
		t.Errorf("with another token: %v", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1 << (i % 8)
		if _, err := OpenKeyring(changed, fixed(1)); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := OpenKeyring(sealed[:i], fixed(1)); !errors.Is(err, ErrSealed) {
			t.Fatalf("cut at byte %d: %v", i, err)
		}
	}
	if _, err := OpenKeyring(make([]byte, maxKeyring+1), fixed(1)); !errors.Is(err, ErrSealed) {
		t.Errorf("large: %v", err)
	}
}

// What only a holder of the token can make is checked all the same.
func TestParseKeyring_WhatMakesNoSense_IsRefused(t *testing.T) {
	a, other := newAuthority(t, Cluster{9}), newAuthority(t, Cluster{9})
	key := make([]byte, tokenSize)
	good := stored{Cluster: make([]byte, 16), Version: 1, Tokens: []storedToken{{key, "x"}}, Authorities: []storedAuthority{{a.key.Seed(), a.cert.Raw}}}
	if k, err := parseKeyring(encodeStored(t, good)); err != nil || k == nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*stored){
		"no cluster":                           func(s *stored) { s.Cluster = nil },
		"no token":                             func(s *stored) { s.Tokens = nil },
		"a short token":                        func(s *stored) { s.Tokens = []storedToken{{key[1:], "x"}} },
		"many tokens":                          func(s *stored) { s.Tokens = make5(s.Tokens[0]) },
		"many authorities":                     func(s *stored) { s.Authorities = make5(s.Authorities[0]) },
		"a short key":                          func(s *stored) { s.Authorities = []storedAuthority{{nil, a.cert.Raw}} },
		"no certificate":                       func(s *stored) { s.Authorities = []storedAuthority{{a.key.Seed(), nil}} },
		"the key of another authority":         func(s *stored) { s.Authorities = []storedAuthority{{other.key.Seed(), a.cert.Raw}} },
		"an authority that is not there signs": func(s *stored) { s.Signing = 1 },
		"a negative one signs":                 func(s *stored) { s.Signing = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := parseKeyring(encodeStored(t, bad)); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseKeyring([]byte("{")); !errors.Is(err, ErrSealed) {
		t.Errorf("no JSON: %v", err)
	}
}

func make5[T any](one T) []T { return []T{one, one, one, one, one} }

func encodeStored(t *testing.T, s stored) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKeyring_TokenIsReplaced_OnlyByWhoKnowsTheNewOne(t *testing.T) {
	do := must(t)
	k := newRing(t, fixed(1))
	if _, err := k.KeepToken(fixed(1)); !errors.Is(err, ErrKeyring) {
		t.Errorf("nothing is to be finished: %v", err)
	}
	if _, err := k.AddToken(fixed(1)); !errors.Is(err, ErrKeyring) {
		t.Errorf("the same token: %v", err)
	}
	two := do(k.AddToken(fixed(2)))
	if two.Version <= k.Version || len(k.Tokens) != 1 || two.TokenNumber(fixed(1)) != 1 || two.TokenNumber(fixed(2)) != 2 || two.TokenNumber(fixed(3)) != 0 || two.TokenNumber(Token{}) != 0 {
		t.Errorf("%+v after %+v", two, k)
	}
	if _, err := two.AddToken(fixed(3)); !errors.Is(err, ErrKeyring) {
		t.Errorf("a third token: %v", err)
	}
	if again, err := two.AddToken(fixed(2)); again != two || err != nil {
		t.Errorf("the new token once more: %+v, %v", again, err)
	}
	if again, err := two.AddToken(fixed(1)); !errors.Is(err, ErrKeyring) {
		t.Errorf("the old token once more: %+v, %v", again, err)
	}
	for _, wrong := range []Token{fixed(1), fixed(3), {}} {
		if _, err := two.KeepToken(wrong); !errors.Is(err, ErrKeyring) {
			t.Errorf("finished with %v: %v", wrong, err)
		}
	}
	last := do(two.KeepToken(fixed(2)))
	if len(last.Tokens) != 1 || last.TokenNumber(fixed(2)) != 1 {
		t.Errorf("%+v", last)
	}
	if _, err := OpenKeyring(seal(t, last), fixed(1)); !errors.Is(err, ErrSealed) {
		t.Errorf("the old token opens it: %v", err)
	}
}

func TestKeyring_TokenIsWithdrawn_OnlyByWhoKnowsTheOldOne(t *testing.T) {
	do := must(t)
	k := newRing(t, fixed(1))
	if _, err := k.WithdrawToken(fixed(1)); !errors.Is(err, ErrKeyring) {
		t.Errorf("nothing is to be withdrawn: %v", err)
	}
	two := do(k.AddToken(fixed(2)))
	for _, wrong := range []Token{fixed(2), fixed(3), {}} {
		if _, err := two.WithdrawToken(wrong); !errors.Is(err, ErrKeyring) {
			t.Errorf("withdrawn with %v: %v", wrong, err)
		}
	}
	last := do(two.WithdrawToken(fixed(1)))
	if len(last.Tokens) != 1 || last.TokenNumber(fixed(1)) != 1 || last.Version <= two.Version || len(two.Tokens) != 2 {
		t.Errorf("%+v after %+v", last, two)
	}
	if _, err := OpenKeyring(seal(t, last), fixed(2)); !errors.Is(err, ErrSealed) {
		t.Errorf("the new token opens it: %v", err)
	}
}

func TestToken_Tag_TellsWhichTokenAndNothingElse(t *testing.T) {
	k := must(t)(newRing(t, fixed(1)).AddToken(fixed(2)))
	tag := fixed(2).Tag("node 1")
	if n := k.TokenOfTag(tag, "node 1"); n != 2 {
		t.Errorf("it is token %d", n)
	}
	if n := k.TokenOfTag(tag, "node 2"); n != 0 {
		t.Errorf("said by another node it is token %d", n)
	}
	if n := k.TokenOfTag(fixed(3).Tag("node 1"), "node 1") + k.TokenOfTag(nil, "node 1") + k.TokenOfTag(Token{}.Tag("node 1"), "node 1"); n != 0 {
		t.Errorf("another token, or none, is token %d", n)
	}
}

func TestKeyring_AuthorityIsReplaced_MembersOfBothMeetUntilTheLastStep(t *testing.T) {
	do, now := must(t), time.Now()
	k := newRing(t, fixed(1))
	if k.Step() != nil {
		t.Error("there is a step without a replacement")
	}
	both := do(k.AddAuthority(now))
	if _, err := both.AddAuthority(now); !errors.Is(err, ErrKeyring) {
		t.Errorf("a second replacement: %v", err)
	}
	signs := both.Step()
	last := signs.Step()
	if last.Step() != nil || both.Signer() != k.Signer() || signs.Signer() == k.Signer() || last.Signer() != signs.Signer() || len(signs.Certificates()) != 2 || len(last.Certificates()) != 1 {
		t.Fatal("the steps are others")
	}
	issue := func(r *Keyring, number uint32) *Keys {
		keys := newKeys(t)
		cert, err := r.Signer().Sign(request(t, keys), Identity{Cluster: Cluster{9}, Role: RoleNode, Number: number}, now)
		if err == nil {
			_, err = keys.Install(cert, r.Certificates())
		}
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	steps := []*Keyring{k, both, signs, last}
	for i := range steps {
		for j := range steps {
			x, y := pipes(t)
			_, err := meet(t, x, y, issue(steps[i], 1).TLS("link"), issue(steps[j], 2).TLS("link"))
			if (err == nil) != (max(i-j, j-i) <= 1) {
				t.Errorf("members of steps %d and %d: %v", i, j, err)
			}
		}
	}
	var dropped int
	keys := issue(k, 3)
	keys.OnDrop(func() { dropped++ })
	for _, c := range []struct {
		about   string
		ring    *Keyring
		dropped int
	}{{"a renewal", k, 0}, {"two authorities", both, 0}, {"the new one signs", signs, 0}, {"the old one is dropped", last, 1}, {"another renewal", last, 1}, {"as many as before, but another one", k, 2}} {
		cert, err := c.ring.Signer().Sign(request(t, keys), Identity{Cluster: Cluster{9}, Role: RoleNode, Number: 3}, now)
		if err == nil {
			_, err = keys.Install(cert, c.ring.Certificates())
		}
		if err != nil || dropped != c.dropped {
			t.Errorf("%s: %v, authorities were dropped %d times, must be %d", c.about, err, dropped, c.dropped)
		}
	}
	insecure, err := NewKeyring(Cluster{9}, fixed(1), true, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := insecure.AddAuthority(now); !errors.Is(err, ErrKeyring) {
		t.Errorf("without TLS: %v", err)
	}
}

func TestKeyring_Revoked_AreForgottenWhenTheirCertificatesHaveEnded(t *testing.T) {
	do, now := must(t), time.Now()
	k := newRing(t, fixed(1))
	for i := range maxRevoked {
		k = do(k.Revoke(uint32(i+1), "x", now))
	}
	if _, err := k.Revoke(5, "again", now); err != nil {
		t.Errorf("one that was revoked: %v", err)
	}
	if _, err := k.Revoke(9999, "x", now); !errors.Is(err, ErrKeyring) {
		t.Errorf("one more: %v", err)
	}
	if b, err := OpenKeyring(seal(t, k), fixed(1)); err != nil || len(b.Revoked) != maxRevoked {
		t.Errorf("sealed and opened: %v", err)
	}
	later := do(k.Revoke(9999, "x", now.Add(certificateLife+backdate+time.Hour)))
	if len(later.Revoked) != 1 || !later.IsRevoked(9999) {
		t.Errorf("%d are left", len(later.Revoked))
	}
}

// FuzzOpenKeyring opens what only looks sealed.
func FuzzOpenKeyring(f *testing.F) {
	f.Add([]byte{keyringFormat})
	f.Add(seal(f, newRing(f, fixed(2))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := OpenKeyring(b, fixed(1)); err == nil || k != nil {
			t.Fatal("opened")
		}
	})
}

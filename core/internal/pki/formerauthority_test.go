package pki

import (
	"errors"
	"testing"
	"time"
)

func TestOpenAuthority_OfAReleaseBeforeKeyrings_IsTheSame(t *testing.T) {
	a, err := NewAuthority(Cluster{7}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	token, head := NewToken("here"), []byte{formerVersion}
	plain := append(append(a.cluster[:len(a.cluster):len(a.cluster)], a.key.Seed()...), a.cert.Raw...)
	sealed := append(head, sealWith(token.derive("sealed authority"), plain, head)...)
	again, err := OpenAuthority(sealed, token)
	if err != nil || string(again.Certificate()) != string(a.Certificate()) || again.Cluster() != a.Cluster() || !again.key.Equal(a.key) {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := OpenAuthority(sealed, NewToken("elsewhere")); !errors.Is(err, ErrSealed) {
		t.Errorf("with another token: %v", err)
	}
	for i := range sealed {
		cut := append([]byte(nil), sealed...)
		cut[i] ^= 1
		if _, err := OpenAuthority(cut, token); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d was changed: %v", i, err)
		}
		if _, err := OpenAuthority(sealed[:i], token); !errors.Is(err, ErrSealed) {
			t.Fatalf("it was cut at %d: %v", i, err)
		}
	}
}

package join

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// member is the head that the played heads know.
var member = linkmsg.HeadAt{ID: "known", Number: 4}

func (s *playedState) Has(_ context.Context, at linkmsg.HeadAt) (bool, error) {
	if at.ID == "too early" {
		return false, errors.New("this head does not know it yet")
	}
	return at.ID == member.ID && at.Number == member.Number, nil
}

func sealing(text string) func(*Server) {
	return func(s *Server) { s.Sealed = func() ([]byte, error) { return []byte(text), nil } }
}

func TestKeys_HeadOfTheCluster_GetsThemForTheToken(t *testing.T) {
	h := newHead(t, false, sealing("keys"))
	c, cluster := h.client(1), h.server.Self.Cluster
	found, err := c.Keys(t.Context(), cluster, member)
	if err != nil || len(found) != 1 || string(found[0].Sealed) != "keys" || found[0].Removed || found[0].From != h.address {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, at := range []linkmsg.HeadAt{{ID: "known", Number: 5}, {ID: "other", Number: 4}} {
		found, err := c.Keys(t.Context(), cluster, at)
		if err != nil || len(found) != 1 || !found[0].Removed || found[0].Sealed != nil {
			t.Errorf("%+v is no head of the cluster, and gets %+v, %v", at, found, err)
		}
	}
	if found, err := c.Keys(t.Context(), cluster, linkmsg.HeadAt{ID: "too early", Number: 4}); err == nil || len(found) != 0 || !strings.Contains(err.Error(), "does not know it yet") {
		t.Errorf("a head that does not know who belongs to the cluster answers %+v, %v", found, err)
	}
	var refused *pki.RefusedError
	if found, err := c.Keys(t.Context(), pki.NewCluster(), member); !errors.As(err, &refused) || !strings.Contains(err.Error(), "and this is the cluster "+cluster.String()) {
		t.Errorf("a head of another cluster gets %+v, %v", found, err)
	}
	c.Token = pki.NewToken("another one")
	if found, err := c.Keys(t.Context(), cluster, member); !errors.Is(err, pki.ErrWrongToken) || found != nil {
		t.Errorf("without the token it gets %+v, %v", found, err)
	}
}

// A machine that does not answer keeps nobody waiting who has an answer of another one.
func TestKeys_SeveralHeads_AreAskedAtOnce(t *testing.T) {
	one := newHead(t, true, sealing("one"))
	two := newHead(t, true, sealing("two"), func(s *Server) { s.Tokens, s.Self.Cluster = one.server.Tokens, one.server.Self.Cluster })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := one.client(1)
	c.Heads = []string{silent.Addr().String(), one.address, two.address}
	begun := time.Now()
	found, err := c.Keys(t.Context(), one.server.Self.Cluster, member)
	if err != nil || len(found) != 2 || string(found[0].Sealed) == string(found[1].Sealed) {
		t.Fatalf("%+v, %v", found, err)
	}
	if took := time.Since(begun); took >= tryTime {
		t.Errorf("it took %v: the silent one was waited for", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c.Heads = c.Heads[:1]
	if found, err := c.Keys(ctx, one.server.Self.Cluster, member); err == nil || !strings.Contains(err.Error(), c.Heads[0]) {
		t.Errorf("nobody answers: %+v, %v", found, err)
	}
}

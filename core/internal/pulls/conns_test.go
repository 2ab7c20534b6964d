package pulls

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// fewConns lets so many bulk connections be open at a time.
type fewConns struct {
	places chan struct{}
	asks   chan struct{}
}

func (*fewConns) Control(uint32) (*wire.Peer, error) { panic("nobody talks") }

func (f *fewConns) Bulk(ctx context.Context, _ uint32) (net.Conn, error) {
	f.asks <- struct{}{}
	select {
	case f.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, _ := net.Pipe()
	return c, nil
}

// Who waits because all connections are in use gets the first one that comes free, and does not wait until it has been idle for long.
func TestGet_AllConnectionsAreInUse_OneThatComesFreeIsTaken(t *testing.T) {
	f := &fewConns{make(chan struct{}, 1), make(chan struct{}, 10)}
	s := &conns{network: f, patience: time.Second}
	t.Cleanup(s.close)
	first, err := s.get(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	<-f.asks
	got := make(chan *bulk)
	for range 3 {
		go func() {
			b, err := s.get(t.Context(), 2)
			if err != nil {
				t.Error(err)
			}
			got <- b
		}()
		<-f.asks
	}
	for range 3 {
		s.put(2, first)
		if b := <-got; b != first {
			t.Fatal("another connection is taken")
		}
	}
	s.put(2, first)
	if len(s.waits) != 0 || len(s.idle[2]) != 1 {
		t.Errorf("%d wait, %d connections are idle", len(s.waits), len(s.idle[2]))
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, _ := s.get(ctx, 2)
	cancel()
	if _, err := s.get(ctx, 2); err == nil || len(s.waits) != 0 {
		t.Errorf("a wait that was given up ends with %v, and %d wait", err, len(s.waits))
	}
	s.put(2, b)
}

package inquiry

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// heldKeys is a store whose changes wait until they are let go.
type heldKeys struct {
	KeyStore
	mu   sync.Mutex
	held map[string]chan struct{}
	made []string
}

func (h *heldKeys) hold(key string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[key]
}

func (h *heldKeys) WriteKey(ctx context.Context, w record.KeyWrite) (record.KeyWritten, error) {
	if c := h.hold(w.Key); c != nil {
		select {
		case <-c:
		case <-ctx.Done():
			return record.KeyWritten{}, errors.Join(record.ErrMayHaveBeenApplied, ctx.Err())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = append(h.made, w.Key+"="+string(w.Value))
	return record.KeyWritten{Version: uint64(len(h.made))}, nil
}

func (h *heldKeys) WatchKeys(ctx context.Context, _ string, _ uint64) (record.KeyChanges, error) {
	<-ctx.Done()
	return record.KeyChanges{}, ctx.Err()
}

// asks returns a peer whose requests a KeyRequests serves.
func asks(t *testing.T, h KeyStore) (*wire.Peer, *KeyRequests) {
	t.Helper()
	k := &KeyRequests{}
	here, there := net.Pipe()
	reach := func(context.Context) (KeyStore, error) { return h, nil }
	served := wire.NewPeer(there, func(m *wire.Message) {
		if !k.Serve(t.Context(), reach, m) {
			_ = m.Fail(fault.New(fault.BadRequest, "not about keys"))
		}
	}, func(error) { k.End() })
	served.Start()
	p := wire.NewPeer(here, func(*wire.Message) {}, nil)
	p.Start()
	t.Cleanup(func() {
		p.Close()
		<-served.Done()
	})
	return p, k
}

// Changes of one key keep their order, and a key that waits for the head does not hold up another one.
func TestKeyRequests_OneKeyWaits_OthersGoOn(t *testing.T) {
	k := &KeyRequests{}
	other := "b"
	for k.lane(other) == k.lane("a") {
		other += "b"
	}
	h := &heldKeys{held: map[string]chan struct{}{"a": make(chan struct{})}}
	p, _ := asks(t, h)
	var all sync.WaitGroup
	write := func(key, value string) {
		all.Add(1)
		p.Go(wire.TKeyWrite, record.KeyWrite{Key: key, Value: []byte(value)}, func(_ *wire.Message, err error) {
			if err != nil {
				t.Error(err)
			}
			all.Done()
		})
	}
	write("a", "1")
	write("a", "2")
	if err := p.Call(t.Context(), wire.TKeyWrite, record.KeyWrite{Key: other}, nil); err != nil {
		t.Fatal(err)
	}
	close(h.hold("a"))
	all.Wait()
	if want := []string{other + "=", "a=1", "a=2"}; !slices.Equal(h.made, want) {
		t.Errorf("made %q, want %q", h.made, want)
	}
	if err := p.Call(t.Context(), wire.TKVGet, nil, nil); err == nil || !strings.Contains(err.Error(), "not about keys") {
		t.Errorf("another message: %v", err)
	}
}

// A change that the head does not answer in time may have been made, and the process is told so.
func TestKeyRequests_HeadIsSilent_MayHaveBeenApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := asks(t, &heldKeys{held: map[string]chan struct{}{"a": make(chan struct{})}})
		err := p.Call(t.Context(), wire.TKeyWrite, record.KeyWrite{Key: "a"}, nil)
		if fault.CodeOf(err) != fault.MayHaveBeenApplied || !strings.Contains(err.Error(), "change a key: the head of the cluster did not answer within 1m0s") {
			t.Errorf("got %v", err)
		}
		p.Close()
		synctest.Wait()
	})
}

// leaseStore grants and ends leases.
type leaseStore struct {
	KeyStore
	mu      sync.Mutex
	granted uint64
	live    map[uint64]bool
}

func (s *leaseStore) GrantKeyLease(context.Context, int64) (record.KeyLeased, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted++
	s.live[s.granted] = true
	return record.KeyLeased{ID: s.granted}, nil
}

func (s *leaseStore) EndKeyLease(_ context.Context, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
	return nil
}

func (s *leaseStore) KeepKeyLease(_ context.Context, id uint64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id], nil
}

// A process that is dead loses its leases, also one that it was about to get. One whose connection has closed keeps them.
func TestKeyRequests_ProcessIsDead_ItsLeasesEnd(t *testing.T) {
	s := &leaseStore{live: map[uint64]bool{}}
	p, k := asks(t, s)
	grant := func() (l record.KeyLeased) {
		t.Helper()
		if err := p.Call(t.Context(), wire.TKeyGrant, int64(1000), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	keep := func(id uint64) (kept bool) {
		t.Helper()
		if err := p.Call(t.Context(), wire.TKeyKeep, id, &kept); err != nil {
			t.Fatal(err)
		}
		return kept
	}
	if k.HoldsLeases() {
		t.Error("it holds a lease before it was given one")
	}
	first, second := grant(), grant()
	if err := p.Call(t.Context(), wire.TKeyEnd, first.ID, nil); err != nil || !k.HoldsLeases() {
		t.Errorf("one of two leases was ended, %v: it holds any: %v", err, k.HoldsLeases())
	}
	delete(s.live, second.ID) // the head has ended it
	if keep(second.ID) || k.HoldsLeases() {
		t.Error("it holds a lease that the head has ended")
	}
	third := grant()
	k.End()
	if !keep(third.ID) || !k.HoldsLeases() {
		t.Error("a lease has ended with the connection")
	}
	k.Died(t.Context(), func(context.Context) (KeyStore, error) { return s, nil })
	if keep(third.ID) || k.HoldsLeases() {
		t.Error("a lease has outlived its process")
	}
	if late := grant(); keep(late.ID) {
		t.Error("a lease was given to a dead process")
	}
}

// Watches of a process have a bound and numbers of their own. They end when the process says so, or is gone.
func TestKeyRequests_Watches_AreBoundAndEnd(t *testing.T) {
	p, k := asks(t, &heldKeys{})
	ended := make(chan error, maxWatches)
	for i := range uint64(maxWatches) {
		p.Go(wire.TKeyWatch, wire.KeyWatch{Number: i + 1}, func(_ *wire.Message, err error) { ended <- err })
	}
	if err := p.Call(t.Context(), wire.TKeyWatch, wire.KeyWatch{Number: 1}, nil); err == nil || !strings.Contains(err.Error(), "watch 1 waits already") {
		t.Errorf("the same number: %v", err)
	}
	if err := p.Call(t.Context(), wire.TKeyWatch, wire.KeyWatch{Number: 5000}, nil); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "watch a common prefix") {
		t.Errorf("too many: %v", err)
	}
	if err := p.Push(wire.TKeyUnwatch, uint64(7)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; fault.CodeOf(err) != fault.Closed {
		t.Errorf("the watch that was ended: %v", err)
	}
	k.End()
	for range maxWatches - 1 {
		if err := <-ended; err == nil {
			t.Error("a watch of a process that is gone has an answer")
		}
	}
	if err := p.Call(t.Context(), wire.TKeyWatch, wire.KeyWatch{Number: 8}, nil); fault.CodeOf(err) != fault.Closed {
		t.Errorf("a watch afterwards: %v", err)
	}
}

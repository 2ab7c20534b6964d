package core

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/alarm"
	"github.com/eagleray/eagleray/core/internal/keyleases"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// KVLease is a lease of keys: the keys that are put with it vanish when it ends. The session keeps it alive. It ends when the program
// calls End, closes the session or crashes, and when the cluster has not heard of the program for the lease's time: because it hangs, or its machine is lost.
//
// A lease makes a lock or a leader: whoever creates the key with CompareAndSwap(ctx, key, 0, value) has it. Lost tells the holder to
// stop before anybody else can get the key: a fifth of the lease's time before. The holder's own clock decides, so it is
// told also when nothing reaches it any more. It goes on while the machine is suspended.
//
// No channel can stop a process that does not run. After a pause of the process or the machine, code may run on for a moment before Lost
// closes. A program that must not do that asks Err right before each deed, or passes the version of its key on with the deed,
// and whoever carries the deed out refuses one with a version that is lower than what it has seen.
type KVLease struct {
	kv   *KV
	id   uint64
	ttl  time.Duration
	lost chan struct{}
	stop context.CancelFunc // ends keep
	over chan struct{}      // closed when keep has ended

	mu    sync.Mutex
	until time.Duration // boot time
	why   error         // set before lost is closed
}

// Lease asks for a lease. Ttl is its time, from 1 s to 1 h: the cluster ends the lease when it has not heard of the program for so long. A head
// that is replaced or restarted is away for a moment, so a lease of less than 10 s may be lost then.
func (k *KV) Lease(ctx context.Context, ttl time.Duration) (*KVLease, error) {
	if err := record.CheckKeyLease(ttl.Milliseconds()); err != nil {
		return nil, err
	}
	if err := begin(ctx, "get a lease"); err != nil {
		return nil, err
	}
	asked := alarm.Now()
	var r record.KeyLeased
	if err := k.s.c.Ask(ctx, wire.TKeyGrant, ttl.Milliseconds(), &r); err != nil { // one that nobody keeps ends by itself
		return nil, fmt.Errorf("get a lease: %w", err)
	}
	if r.Outcome != record.KeyDone {
		return nil, fault.New(fault.TooLarge, "get a lease: the cluster has as many leases as it may have: use one lease for several keys, and end those that are not needed")
	}
	l := &KVLease{kv: k, id: r.ID, ttl: ttl, lost: make(chan struct{}), over: make(chan struct{}), until: asked + keyleases.Trust(ttl)}
	keeping, stop := context.WithCancel(context.Background())
	l.stop = stop
	if !k.enter(l) {
		stop()
		return nil, fault.New(fault.Closed, "get a lease: the session is closed")
	}
	go l.keep(keeping, asked)
	return l, nil
}

// enter notes a lease, unless the session is closed.
func (k *KV) enter(l *KVLease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return false
	}
	if k.leases == nil {
		k.leases = map[*KVLease]struct{}{}
	}
	k.leases[l] = struct{}{}
	return true
}

func (k *KV) leave(l *KVLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.leases, l)
}

// endLeases ends all leases: the session is being closed.
func (k *KV) endLeases(ctx context.Context) {
	for _, l := range k.take() {
		_ = l.End(ctx) // it ends by itself otherwise
	}
}

func (k *KV) take() (list []*KVLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for l := range k.leases {
		list = append(list, l)
	}
	return list
}

// Lost is closed when the program must not count on the lease any more. Err says why.
func (l *KVLease) Lost() <-chan struct{} { return l.lost }

// Err returns nil while the program can count on the lease, and then why it cannot. It looks at the clock.
func (l *KVLease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil && alarm.Now() >= l.until {
		return l.expired()
	}
	return l.why
}

// expired is the error of a lease whose time has passed.
func (l *KVLease) expired() error {
	return fault.New(fault.LeaseLost, "the lease is lost: the cluster has not confirmed it for %v of its %v", keyleases.Trust(l.ttl), l.ttl)
}

// Put is KV.Put, and the key vanishes with the lease. The error is ErrLeaseLost when the lease has ended.
func (l *KVLease) Put(ctx context.Context, key string, value []byte) (version uint64, err error) {
	return l.write(ctx, "put", record.KeyWrite{Key: key, Value: value})
}

// CompareAndSwap is KV.CompareAndSwap, and the key vanishes with the lease. The error is ErrLeaseLost when the lease has ended.
func (l *KVLease) CompareAndSwap(ctx context.Context, key string, version uint64, value []byte) (uint64, error) {
	return l.write(ctx, "swap", record.KeyWrite{Key: key, Value: value, If: true, Version: version})
}

func (l *KVLease) write(ctx context.Context, verb string, w record.KeyWrite) (uint64, error) {
	if err := l.Err(); err != nil {
		return 0, fmt.Errorf("%s key %q: %w", verb, w.Key, err)
	}
	w.Lease = l.id
	return l.kv.write(ctx, verb, w)
}

// End ends the lease. Lost is closed first, and then the keys vanish. When End returns an error, they vanish when the session is closed, or when the
// lease's time has passed.
func (l *KVLease) End(ctx context.Context) error {
	l.lose(fault.New(fault.LeaseLost, "the lease is lost: the program has ended it"))
	<-l.over
	if err := l.kv.s.c.Ask(ctx, wire.TKeyEnd, l.id, nil); err != nil {
		return fmt.Errorf("end a lease: %w", err)
	}
	l.kv.leave(l)
	return nil
}

// lose notes that the lease is lost, once.
func (l *KVLease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.lost)
		l.stop()
	}
}

// extend notes until when the program can count on the lease, unless that has passed already.
func (l *KVLease) extend(until time.Duration, clock *alarm.Clock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := alarm.Now(); l.why == nil && now < l.until {
		l.until = max(l.until, until)
	}
	return clock.Set(l.until)
}

// keep keeps the lease until it is lost. Asked is when the last word was sent that was confirmed.
func (l *KVLease) keep(ctx context.Context, asked time.Duration) {
	defer close(l.over)
	clock, err := alarm.New()
	if err == nil {
		err = l.extend(0, clock)
	}
	if err != nil {
		l.lose(fault.New(fault.LeaseLost, "the lease is lost: this machine has no timer for it: %v", err))
		return
	}
	defer clock.Close()
	words := l.speak(ctx, asked)
	for {
		select {
		case <-ctx.Done():
		case <-l.kv.s.done:
			l.lose(fault.New(fault.LeaseLost, "the lease is lost: the session has ended (%v)", l.kv.s.Err()))
		case w := <-words:
			if w.gone {
				l.lose(fault.New(fault.LeaseLost, "the lease is lost: the cluster has ended it"))
				l.kv.leave(l)
			} else if err := l.extend(w.asked+keyleases.Trust(l.ttl), clock); err != nil {
				l.lose(fault.New(fault.LeaseLost, "the lease is lost: %v", err))
			}
		case <-clock.Rings():
			if err := l.Err(); err != nil {
				l.lose(err)
				l.kv.leave(l)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// word is an answer of the cluster.
type word struct {
	asked time.Duration // when it was asked for
	gone  bool
}

// speak tells the cluster again and again that the program is there, until the context ends.
func (l *KVLease) speak(ctx context.Context, asked time.Duration) <-chan word {
	words := make(chan word)
	every := keyleases.Every(l.ttl)
	go func() {
		for {
			if pause(ctx, max(0, asked+every-alarm.Now())) != nil {
				return
			}
			asked = alarm.Now()
			var kept bool
			err := l.kv.s.c.Ask(ctx, wire.TKeyKeep, l.id, &kept)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil: // the next word may be heard; if none is, the clock rings
				if pause(ctx, every/4) != nil {
					return
				}
				continue
			}
			select {
			case words <- word{asked, !kept}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return words
}

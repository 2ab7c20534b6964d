package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core"
)

// loader is a program that makes calls.
type loader struct {
	name              string
	rate              float64
	clients, sessions int
	seed              uint64

	history *history
	calls   atomic.Uint64 // numbers values
}

const (
	keysAtATime = 12
	// keyLife is how long a key is used. Porcupine's work grows with the calls of a key. All loaders change keys at the same time.
	keyLife = 8 * time.Second
	// patience is longer than a blow, and than the minute after which the node says that a change may have been made.
	patience = 75 * time.Second
)

// run makes calls until the input ends.
func (l *loader) run(ctx context.Context, path string, in io.Reader, out io.Writer) (err error) {
	if l.history, err = newHistory(path); err != nil {
		return err
	}
	defer func() {
		if e := l.history.close(); err == nil {
			err = e
		}
	}()
	var stores []*core.KV
	for range l.sessions {
		s, err := core.Connect(ctx, core.Options{Namespace: "keyload"})
		if err != nil {
			return err
		}
		defer s.Close()
		stores = append(stores, s.KV())
	}
	fmt.Fprintln(out, "ready")
	over := make(chan struct{})
	failed := make(chan error, l.clients)
	var all sync.WaitGroup
	for i := range l.clients {
		c := &client{l: l, kv: stores[i%len(stores)], name: fmt.Sprintf("%s.%d", l.name, i), die: rand.New(rand.NewPCG(l.seed, uint64(i)))}
		all.Go(func() { failed <- c.run(ctx, over) })
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	close(over)
	all.Wait()
	for range l.clients {
		if err := <-failed; err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d calls, %d acknowledged writes, longest pause %v\n", l.history.calls, l.history.writes, l.history.pause.Round(time.Millisecond))
	return nil
}

// client makes one call after the other.
type client struct {
	l    *loader
	kv   *core.KV
	name string
	die  *rand.Rand
	seen map[string]uint64 // versions of the keys of now
	life int64
}

func (c *client) run(ctx context.Context, over <-chan struct{}) error {
	pause := time.Duration(float64(c.l.clients) / c.l.rate * float64(time.Second))
	tick := time.NewTicker(pause) // a late client makes up for one call only: the rate is a bound
	defer tick.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-tick.C:
		}
		k := c.next()
		c.make(ctx, k)
		if err := c.l.history.note(k); err != nil {
			return err
		}
	}
}

// next chooses a call.
func (c *client) next() *call {
	if life := now() / int64(keyLife); life != c.life {
		c.life, c.seen = life, map[string]uint64{}
	}
	k := &call{Client: c.name, Key: fmt.Sprintf("keyload/%d/%d", c.life, c.die.IntN(keysAtATime))}
	value := fmt.Sprintf("%s.%d", c.l.name, c.l.calls.Add(1))
	switch x := c.die.IntN(20); {
	case x < 6:
		k.Verb = get
	case x < 13:
		k.Verb, k.Value = put, value
	case x < 18:
		k.Verb, k.Value, k.Expected = swap, value, c.seen[k.Key]
	case x < 19 && c.seen[k.Key] != 0:
		k.Verb, k.Expected = drop, c.seen[k.Key]
	default:
		k.Verb = del
	}
	return k
}

// make makes the call, and notes what came of it.
func (c *client) make(ctx context.Context, k *call) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	k.Begin = now()
	switch k.Verb {
	case get:
		var b []byte
		b, k.Version, err = c.kv.Get(ctx, k.Key)
		k.Read = string(b)
	case put:
		k.Version, err = c.kv.Put(ctx, k.Key, []byte(k.Value))
	case swap:
		k.Version, err = c.kv.CompareAndSwap(ctx, k.Key, k.Expected, []byte(k.Value))
	case del:
		err = c.kv.Delete(ctx, k.Key)
	case drop:
		err = c.kv.CompareAndDelete(ctx, k.Key, k.Expected)
	}
	k.End = now()
	var other *core.ConflictError
	switch {
	case err == nil:
		k.Outcome = done
	case k.Verb == get && errors.Is(err, core.ErrNotFound):
		k.Outcome = none
	case errors.As(err, &other):
		k.Outcome, k.Version = conflict, other.Present
	case k.writes() && !errors.Is(err, core.ErrHeadUnavailable):
		k.Outcome, k.Why = unknown, err.Error()
	default:
		k.Outcome, k.Why = undone, err.Error()
	}
	if k.Outcome == done || k.Outcome == none || k.Outcome == conflict {
		c.seen[k.Key] = k.Version
		if k.Verb == del || k.Verb == drop && k.Outcome == done {
			c.seen[k.Key] = 0
		}
	}
}

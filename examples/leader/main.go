// Command leader elects one leader among the copies of it that run anywhere in a cluster. The leader has a key with a lease. When
// it ends, or dies, another copy leads.
//
//	eagleray start --head
//	go run ./examples/leader -name one &
//	go run ./examples/leader -name two &
//	kill -9 %1      # now two leads
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/eagleray/eagleray/core"
)

const key = "examples/leader"

func main() {
	name := flag.String("name", fmt.Sprint(os.Getpid()), "how this copy is called")
	ttl := flag.Duration("ttl", 10*time.Second, "how long a leader that hangs, or whose machine is lost, is waited for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *name, *ttl); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string, ttl time.Duration) error {
	s, err := core.Connect(ctx, core.Options{})
	if err != nil {
		return err
	}
	defer s.Close() // also ends the lease, so that the next copy leads at once
	for {
		if err := campaign(ctx, s.KV(), name, ttl); err != nil {
			return err
		}
	}
}

// campaign waits until this copy leads, leads, and returns when it leads no more.
func campaign(ctx context.Context, kv *core.KV, name string, ttl time.Duration) error {
	lease, err := kv.Lease(ctx, ttl)
	if err != nil {
		return err
	}
	defer lease.End(ctx)
	token, err := lease.CompareAndSwap(ctx, key, 0, []byte(name)) // the key must not be there
	if errors.Is(err, core.ErrVersionConflict) {
		return waitUntilFree(ctx, kv)
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s leads with token %d\n", name, token)
	return lead(ctx, lease, token)
}

// lead is what a leader does. The token grows with each leader: whoever gets orders from leaders refuses those with a smaller token than
// the largest that it has seen.
func lead(ctx context.Context, lease *core.KVLease, _ uint64) error {
	select {
	case <-lease.Lost():
		fmt.Println("not the leader any more:", lease.Err())
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitUntilFree returns when the key is not there any more.
func waitUntilFree(ctx context.Context, kv *core.KV) error {
	list, err := kv.List(ctx, key)
	if err != nil || len(list.Pairs) == 0 {
		return err
	}
	fmt.Printf("%s leads now\n", list.Pairs[0].Value)
	for change, err := range kv.Watch(ctx, key, list.Seq) {
		if errors.Is(err, core.ErrCompacted) {
			return nil // look again
		}
		if err != nil {
			return err
		}
		if change.Deleted {
			return nil
		}
	}
	return nil
}

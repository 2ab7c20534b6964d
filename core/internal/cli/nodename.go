package cli

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// lookupLimit is how long start waits for the addresses of a name.
const lookupLimit = 10 * time.Second

// leadsSomewhere refuses a name without an address: other nodes could not reach a node of that name. An address is not looked up,
// and neither is it compared with those of this machine, for it may be one that a router translates.
func leadsSomewhere(node string, lookup func(ctx context.Context, name string) ([]string, error)) error {
	if _, err := netip.ParseAddr(node); err == nil || node == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	if _, err := lookup(ctx, node); err != nil {
		return fmt.Errorf("the name %q leads to no address (%w); give an address of this machine, or a name that leads to one", node, err)
	}
	return nil
}

// Package otherheads says what the files of a head need of the other heads of its cluster: packages of environments, and large values of the state.
package otherheads

import (
	"context"
	"net"
)

// Head is another head of the cluster.
type Head struct {
	Number uint32
	Voter  bool
}

// Others are the other heads of the cluster, as one head knows them.
type Others interface {
	// Heads returns the others whose places are known, and whether this head has a vote.
	Heads() (list []Head, votes bool)
	// Majority returns how many of the heads with a vote are a majority. Heads whose places are not known count, too.
	Majority() int
	// Has reports whether the number is that of another head.
	Has(number uint32) bool
	// Changed returns a channel that is closed when the heads, or where they are, have changed.
	Changed() <-chan struct{}
	// Dial makes a bulk connection to a head.
	Dial(ctx context.Context, number uint32) (net.Conn, error)
}

// Nobody is the Others of the only head of a cluster.
type Nobody struct{}

// Heads implements Others.
func (Nobody) Heads() (list []Head, votes bool) { return nil, true }

// Majority implements Others.
func (Nobody) Majority() int { return 1 }

// Has implements Others.
func (Nobody) Has(uint32) bool { return false }

// Changed implements Others.
func (Nobody) Changed() <-chan struct{} { return nil }

// Dial implements Others.
func (Nobody) Dial(context.Context, uint32) (net.Conn, error) { return nil, net.ErrClosed }

package histories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/otherheads"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// One value in eight is large, so that the members keep it as a file. Its filling is not part of what a history compares: a file whose contents are others is refused by its hash.

const everyLarge = 8

// filled returns the bytes of a value of a client.
func filled(value string, n int) []byte {
	if n%everyLarge == 0 {
		value += strings.Repeat(".", record.MinBlobBytes)
	}
	return []byte(value)
}

// unfilled returns the value without its filling.
func unfilled(b []byte) string { return strings.TrimRight(string(b), ".") }

// values are the large values of a member from its start to its death.
type values struct {
	*blobs.Store
	g     *group
	m     *member
	stop  context.CancelFunc
	work  sync.WaitGroup
	state *raftstate.Node
}

func (g *group) openValues(m *member) (*values, error) {
	v := &values{g: g, m: m}
	var err error
	v.Store, err = blobs.Open(blobs.Options{Dir: filepath.Join(m.dir, blobs.Folder), Others: v, Log: slog.New(slog.DiscardHandler)})
	return v, err
}

// begin follows the state of a member that has begun.
func (v *values) begin(n *raftstate.Node) {
	v.state = n
	v.Begin(n)
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	v.work.Go(func() { v.Follow(ctx) })
}

// end is called when the member's state has ended.
func (v *values) end() {
	if v.stop != nil {
		v.stop()
	}
	v.work.Wait()
	v.Close()
}

func (v *values) place(number uint32) *member { return v.g.members[number-1] }

// Heads implements otherheads.Others. All members have a vote.
func (v *values) Heads() (list []otherheads.Head, votes bool) {
	for i, m := range v.g.members {
		if m != v.m {
			list = append(list, otherheads.Head{Number: uint32(i + 1), Voter: true})
		}
	}
	return list, true
}

// Majority implements otherheads.Others.
func (v *values) Majority() int { return len(v.g.members)/2 + 1 }

// Has implements otherheads.Others.
func (v *values) Has(number uint32) bool { return v.place(number) != v.m }

// Changed implements otherheads.Others.
func (v *values) Changed() <-chan struct{} { return nil }

// Dial implements otherheads.Others. No connection is made from or to a member that is dead or cut off. What is cut off later ends what it has begun.
func (v *values) Dial(_ context.Context, number uint32) (net.Conn, error) {
	other := v.place(number)
	l := other.now()
	if l == nil || v.m.now() == nil || v.g.net.isCut(v.m.id, other.id) {
		return nil, errors.New("it is not reached")
	}
	here, there := net.Pipe()
	from := uint32(0)
	for i, m := range v.g.members {
		if m == v.m {
			from = uint32(i + 1)
		}
	}
	go func() {
		defer there.Close()
		l.values.Serve(from, there)
	}()
	return here, nil
}

// valueText is a value for messages, or why it cannot be read.
func valueText(b []byte, err error) string {
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return unfilled(b)
}

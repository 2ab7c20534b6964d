package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
)

// Lend makes a loan of a value that was found, if it is one to be lent: then its
// View is one that has to be given back like others.
func Lend(f *Found) {
	if isLent(f) {
		f.View = localstore.Lend(f.Envelope)
	}
}

// isLent reports whether a value is one to be lent.
func isLent(f *Found) bool { return f.View == 0 && localstore.Lendable(f.Envelope) }

// EndLoan takes a loan back.
func EndLoan(view uint64) { localstore.EndLoan(view) }

// Loans returns how many values are lent to the program.
func Loans() int { return localstore.Loans() }

// TryGetAll is TryGet for many: found i is told to give. Those to be lent are,
// and one more loan keeps the others; it is returned, 0: there is none. Missing
// is how many are not at hand.
func (c *Client) TryGetAll(list []*ids.Object, give func(i int, f *Found)) (keep uint64, missing int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, 0, c.why
	}
	lender := localstore.BeginLoans()
	defer func() { keep = lender.End() }()
	for i, id := range list {
		o := c.table.Find(*id)
		if o == nil || !o.State().Ready() || localstore.MustFetch(o) {
			missing++
			continue
		}
		f, err := c.fetch(o, time.Time{}) // which asks nobody for what is at hand
		if err != nil {
			missing++ // a get of it tells
			continue
		}
		switch {
		case isLent(&f):
			f.View = lender.Lend(f.Envelope)
		case f.View == 0 && len(f.Envelope) > 0:
			lender.Keep(f.Envelope, len(list)-i)
		}
		give(i, &f)
	}
	return keep, missing, nil
}

// DropOrphans handles what the program let go of while it has no session.
func DropOrphans(list []Drop) {
	for _, d := range list {
		switch d.View {
		case 0:
		case DropSome, DropLast:
			refs.DropOrphanBatch(d)
		default:
			localstore.DropOrphan(d.View)
		}
	}
}

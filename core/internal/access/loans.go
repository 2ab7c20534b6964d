package access

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
)

// Lend makes a loan of a found value, if the value should be lent. Then its View has to be
// given back as any other View.
func Lend(f *Found) {
	if isLent(f) {
		f.View = localstore.Lend(f.Envelope)
	}
}

// isLent reports whether a value should be lent.
func isLent(f *Found) bool { return f.View == 0 && localstore.Lendable(f.Envelope) }

// EndLoan takes a loan back.
func EndLoan(view uint64) { localstore.EndLoan(view) }

// Loans returns how many values are lent to the program.
func Loans() int { return localstore.Loans() }

// TryGetAll is TryGet for many objects: it passes value i to give. Values that should be lent
// are lent, and one more loan keeps the other values; its number is returned, 0 if there is
// none. missing is how many values are not at hand.
func (a *Objects) TryGetAll(list []*ids.Object, give func(i int, f *Found)) (keep uint64, missing int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, 0, a.why
	}
	lender := localstore.BeginLoans()
	defer func() { keep = lender.End() }()
	for i, id := range list {
		o := a.table.Find(*id)
		if o == nil || !o.State().Ready() || localstore.MustFetch(o) {
			missing++
			continue
		}
		f, err := a.local.Fetch(o, time.Time{}) // which asks nobody for what is at hand
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

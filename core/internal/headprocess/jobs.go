package headprocess

import (
	"context"
	"errors"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// runs returns a function that says of a job whether it has begun and is not over.
func runs(state *raftstate.Node) func(ids.Job) bool {
	return func(id ids.Job) bool {
		j, known := state.Job(id)
		return known && !j.Over()
	}
}

// followJobs tells the depot which jobs end, until the context does.
func followJobs(ctx context.Context, state *raftstate.Node, depot *packages.Depot) error {
	for {
		from := state.Now()
		for _, id := range depot.Jobs() {
			if !runs(state)(id) {
				depot.Ended(id)
			}
		}
		for {
			batch, err := state.Watch(ctx, from)
			if errors.Is(err, record.ErrCompacted) {
				break
			}
			if err != nil {
				return err
			}
			for _, e := range batch.Events {
				if e.Job != nil && e.Job.Over() {
					depot.Ended(e.Job.ID)
				}
			}
			from = batch.Next
		}
	}
}

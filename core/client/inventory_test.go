package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// An actor goes to the heir while somebody has a handle of it, a call of it is
// open, or it is not registered yet; else nobody can call it any more.
func TestInventory_Actor_OnlyWhileItMayBeCalled(t *testing.T) {
	token := refs.Known(ids.NewObject(7, ids.Owner{1}, ids.Job{}, 0), refs.Facts{})
	for what, x := range map[string]struct {
		a       actor
		written bool
	}{
		"nobody has it":       {actor{}, false},
		"it has a handle":     {actor{token: token}, true},
		"a call is open":      {actor{pending: 1}, true},
		"a call and a handle": {actor{token: token, pending: 2}, true},
	} {
		v := &inventory{w: new(will), tasks: map[*task]int{}}
		x.a.id, x.a.name, x.a.inc, x.a.limit = ids.Actor{3}, "A", 5, 9
		v.actor(&x.a)
		if len(v.w.Actors) > 0 != x.written {
			t.Errorf("%s: %d actors are written down", what, len(v.w.Actors))
			continue
		}
		if !x.written {
			continue
		}
		got := v.w.Actors[0]
		if ids.Actor(got.ID) != x.a.id || got.Name != "A" || got.Inc != 5 || got.Limit != 9 || got.Broken || got.Birth != nil || len(got.Token) > 0 != (x.a.token != nil) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

package headgroup

import (
	"context"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/raftstate"
)

// Lowest returns the lowest level of all heads that the state names, or the wanted one if none is lower: which commands all heads know (raftstate.Level). It counts until a level in use
// is noted. The last answer is kept, since levels seldom fall: an older head that joins writes that into the state first.
func (g *Group) Lowest(wanted int) int {
	if g.state == nil { // it is being opened: nothing is proposed yet
		return wanted
	}
	if g.level.Load() >= int64(wanted) {
		return wanted
	}
	lowest := lowestOf(Entries(g.state), wanted)
	g.level.Store(int64(lowest))
	return lowest
}

func lowestOf(list []Entry, lowest int) int {
	for _, e := range list {
		if !e.Removed {
			lowest = min(lowest, max(e.Level, 1))
		}
	}
	return lowest
}

// raise notes the level that all heads know as the one in use, on the head that leads. From then on a head of an older release is refused.
func (s *seen) raise(ctx context.Context) {
	list := Entries(s.r.Member())
	used, lowest := s.r.Member().Level(), lowestOf(list, raftstate.Level)
	if len(list) == 0 || lowest <= used {
		return
	}
	if err := s.r.RaiseLevel(ctx, lowest); err != nil {
		s.g.o.Log.Warn("the level of commands that all heads know is not noted; it is tried again", "level", lowest, "error", err)
		return
	}
	s.g.o.Log.Info("a level of commands that all heads know is in use now; heads of older releases are refused from now on", "level", lowest, "before", used)
}

// checkLevel refuses a head that does not know all commands that are in use.
func checkLevel(at linkmsg.HeadAt, used int) error {
	if level := max(at.Level, 1); level < used {
		return fault.New(fault.VersionMismatch, "all heads of the cluster have been upgraded: changes of level %d are in use, and the head that wants to join knows those up to level %d. Install the release of the other heads on its machine", used, level)
	}
	return nil
}

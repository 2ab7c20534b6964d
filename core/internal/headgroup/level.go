package headgroup

// Lowest returns the lowest level of all heads that the state names, or the wanted one if none is lower: which commands all heads know (raftstate.Level). The last answer is kept, since
// levels seldom fall: an older head that joins writes that into the state first.
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

package submit

// alone returns a submitting half without a session, for what asks nothing of it.
func alone() *Submitter {
	c := new(Submitter)
	c.Init(nil, Settings{})
	return c
}

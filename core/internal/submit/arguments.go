package submit

// promote moves arguments of a task that are too many for one message to the store, and then starts it. The task has them pinned.
func (c *Submitter) promote(t *Task) {
	c.Unqueued++
	c.fx.Promote(t, t.Movable())
}

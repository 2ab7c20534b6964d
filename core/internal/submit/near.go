package submit

// A task goes to the node on which most bytes of its large arguments lie. For that it is queued in a class of its own for that node (package templates
// has the templates of these, and package leases what is different about their leases). Which node it is, this process only believes: the daemon,
// which is told of the arguments, knows more.

// approach gives a task, which is in no queue, the template for the node where its large arguments lie. Only where there may be other nodes anything is done.
func (c *Submitter) approach(t *Task) {
	tm := t.Template
	if !c.Totals.CanGrow || !tm.Roams() || !t.Takes() && tm.Near == 0 {
		return
	}
	node := t.Home(c.table, c.Self.Node())
	if node == tm.Near {
		return
	}
	to := tm.NearTo(node)
	if to == nil {
		to = tm.Approach(node)
		c.addTemplate(to)
	}
	if to == tm {
		return
	}
	t.become(to)
	c.dropTemplate(tm)
}

// ranOn is the number of the node on which a task runs whose answer is read.
func (t *Task) ranOn() uint32 {
	if t.on == nil {
		return 0
	}
	return t.on.node
}

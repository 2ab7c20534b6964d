package sched

// Sizes are how many entries the tables have, by name.
func (m *Machine) Sizes() map[string]int {
	shapes, classes, queued := 0, 0, 0
	for _, j := range m.jobs {
		shapes += len(j.actors)
	}
	for _, c := range m.clients {
		classes += len(c.classes)
	}
	for _, p := range m.pools {
		queued += len(p.queue)
	}
	return map[string]int{
		"jobs": len(m.jobs), "clients": len(m.clients), "workers": len(m.workers), "leases": len(m.leases),
		"actors": len(m.actors), "shapes": shapes, "classes": classes, "waiting": len(m.waiting),
		"pools": len(m.pools), "reservations": queued, "starting": m.starting,
	}
}

// keptShapes is how many shapes a job keeps for which no actor waits: a shape remembers
// when its actors were served last.
const keptShapes = 64

// trimShapes makes room in the table of a job's shapes.
func (j *job) trimShapes() {
	if len(j.actors) < 2*keptShapes {
		return
	}
	for shape, d := range j.actors {
		if d.want == 0 && len(d.reserved) == 0 && !d.waits {
			delete(j.actors, shape)
		}
	}
}

package sched

// RetireClass forgets a class of which the client wants nothing any more. The client gives
// back the leases of the class that it holds, or that were on their way to it.
func (m *Machine) RetireClass(id ClientID, class ClassID) {
	cl := m.clients[id]
	if cl == nil || cl.classes[class] == nil {
		return
	}
	d := cl.classes[class]
	m.Want(id, class, 0)
	d.retired = true
	d.forget()
}

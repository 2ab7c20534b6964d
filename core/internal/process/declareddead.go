package process

// RejoinStatus is the exit status of a daemon whose node was declared dead. Its warden starts the next one, which joins as a new node.
const RejoinStatus = 75

// DeclaredDeadError is why such a daemon ends.
type DeclaredDeadError struct{ Reason string }

func (e *DeclaredDeadError) Error() string {
	return "the cluster has declared this node dead: " + e.Reason
}

package record

import "github.com/eagleray/eagleray/core/ids"

// ActorFilter says which actors somebody asks for. An actor matches when every field that is
// set holds for it, so the zero filter matches all actors. A filter can be sent: it holds values
// only.
type ActorFilter struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Owner     ids.Owner `msgpack:"owner"` // created by this process
	Job       ids.Job   `msgpack:"job"`
	Node      ids.Node  `msgpack:"node"` // its current incarnation is placed there
	Namespace string    `msgpack:"ns"`

	Live     bool `msgpack:"live"`     // not dead
	Named    bool `msgpack:"named"`    // has a name
	Detached bool `msgpack:"detached"` // outlives its owner and its job
	Bound    bool `msgpack:"bound"`    // ends with its owner and its job: the opposite of Detached
	Passing  bool `msgpack:"passing"`  // ends when the driver of its job leaves: it is bound, and its creator does not work for a detached actor
}

// Match reports whether the actor is one of those that the filter asks for.
func (f *ActorFilter) Match(a *Actor) bool {
	switch {
	case f.Owner != (ids.Owner{}) && a.Owner != f.Owner,
		f.Job != (ids.Job{}) && a.Job != f.Job,
		f.Node != (ids.Node{}) && a.Node != f.Node,
		f.Namespace != "" && a.Namespace != f.Namespace,
		f.Live && !a.Live(),
		f.Named && a.Name == "",
		f.Detached && !a.Detached,
		f.Bound && a.Detached,
		f.Passing && (a.Detached || a.Lasting):
		return false
	}
	return true
}

package record

import "github.com/eagleray/eagleray/core/ids"

// NodeState is whether a node takes part.
type NodeState string

// A node that is dead stays so: its daemon comes back under a new id.
const (
	NodeAlive NodeState = "ALIVE"
	NodeDead  NodeState = "DEAD"
)

// Node is one machine's daemon. What is free on it is soft state and not here.
type Node struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	ID         ids.Node          `msgpack:"id"`
	Name       string            `msgpack:"name"` // what the node is called in lists: need not be unique
	Address    string            `msgpack:"addr"`
	Hostname   string            `msgpack:"host"`
	SessionDir string            `msgpack:"session"`
	Pid        int               `msgpack:"pid"`
	Resources  Resources         `msgpack:"res"` // totals
	Labels     map[string]string `msgpack:"labels"`
	IsHead     bool              `msgpack:"head"`
	StartedMs  int64             `msgpack:"started"`

	// Of a node that other processes can reach; zero where a process is the whole cluster.
	Number uint32   `msgpack:"number"` // the heads gave it, and give it to nobody else
	Links  []string `msgpack:"links"`  // HOST:PORT at which the node takes connections of other nodes

	// Unreachable is what the head that answers knows: nothing was heard of the node for some seconds. It is not part of the state.
	Unreachable bool `msgpack:"silent"`
	// Wire is the version of the messages that the node's processes understand (package wire), as far as the head that answers knows; 0: it does
	// not know. Processes of nodes with different ones do not talk to each other. It is not part of the state.
	Wire int `msgpack:"wire"`

	// Kept by the state.
	Ordinal uint64    `msgpack:"ord"`
	State   NodeState `msgpack:"state"`
	Reason  string    `msgpack:"reason"` // why it is dead
	EndedMs int64     `msgpack:"ended"`
	Drain   *Drain    `msgpack:"drain"` // it gets no new work and leaves; nil: it does not. Kept when it is dead
	Gone    bool      `msgpack:"gone"`  // of a dead node: there is proof that none of its processes runs any more
}

package dir

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// Action is something that a node is to be told.
type Action interface {
	// For returns the node.
	For() Node
	String() string
}

// At answers Where: the object can be read from Holders. The first one has it or pulls it, the others have it.
type At struct {
	To      Node
	Ask     uint64
	ID      ids.Object
	Version Version
	Size    uint64
	Holders []Node
	Begun   bool // the holder, which is the only one then, pulls the object itself
}

// Lost answers Where: there is no copy.
type Lost struct {
	To    Node
	Ask   uint64
	ID    ids.Object
	Freed bool // the owner has freed the object
}

// Free says that nobody needs what the node has of the object.
type Free struct {
	To      Node
	ID      ids.Object
	Version Version // 0: the owner has freed the object; else this version alone counts no more
}

// Promote says that the node's replica is the primary now.
type Promote struct {
	To      Node
	ID      ids.Object
	Version Version
}

// For implements Action.
func (a At) For() Node { return a.To }

// For implements Action.
func (a Lost) For() Node { return a.To }

// For implements Action.
func (a Free) For() Node { return a.To }

// For implements Action.
func (a Promote) For() Node { return a.To }

func (a At) String() string {
	from := fmt.Sprintf("node %d", a.Holders[0])
	for _, n := range a.Holders[1:] {
		from += fmt.Sprintf(" and node %d", n)
	}
	if a.Begun {
		from += ", which pulls it"
	}
	return fmt.Sprintf("at: node %d, ask %d: object %d version %d of %d bytes from %s", a.To, a.Ask, a.ID.Count(), a.Version, a.Size, from)
}

func (a Lost) String() string {
	word := "lost"
	if a.Freed {
		word = "freed"
	}
	return fmt.Sprintf("%s: node %d, ask %d: object %d", word, a.To, a.Ask, a.ID.Count())
}

func (a Free) String() string {
	if a.Version == 0 {
		return fmt.Sprintf("free: node %d: object %d", a.To, a.ID.Count())
	}
	return fmt.Sprintf("free: node %d: object %d version %d", a.To, a.ID.Count(), a.Version)
}

func (a Promote) String() string {
	return fmt.Sprintf("promote: node %d: object %d version %d", a.To, a.ID.Count(), a.Version)
}

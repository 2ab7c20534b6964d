package nodeprocess

import (
	"encoding/hex"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// Said is what a daemon says behind "ready", as JSON.
type Said struct {
	Node     string   `json:"node"` // the node's long id, in hex
	Number   uint32   `json:"number"`
	Warnings []string `json:"warnings,omitempty"` // what about the node may surprise
}

// NodeID reads the long id of a node.
func (s *Said) NodeID() (id ids.Node, err error) {
	b, err := hex.DecodeString(s.Node)
	if err == nil && len(b) != len(id) {
		err = fmt.Errorf("%d bytes, must be %d", len(b), len(id))
	}
	copy(id[:], b)
	return id, err
}

package process

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// Fits returns why a member may not be at the other end of a connection of a process with the role self, whichever side has dialed.
// It is for link.Config.Fits. Numbers and roles belong together: what a node says under the number of a head would be taken for the
// head's word, and what a head says under the number of a node for the node's. isHead says which numbers are those of heads, as far as this
// process has been told.
func Fits(self pki.Role, isHead func(number uint32) bool) func(peer pki.Identity) error {
	return func(peer pki.Identity) error {
		head := isHead(peer.Number)
		switch {
		case peer.Role == pki.RoleHead && !head:
			return fmt.Errorf("its certificate says that it is head %d, and this %s has been told of no head with that number", peer.Number, self)
		case peer.Role != pki.RoleHead && head:
			return fmt.Errorf("%d is the number of a head, and its certificate says that it is a %s", peer.Number, peer.Role)
		case peer.Role == pki.RoleGateway:
			return fmt.Errorf("a gateway has nothing to say to a %s", self)
		}
		return nil
	}
}

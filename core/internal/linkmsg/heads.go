package linkmsg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Messages about the heads themselves.
const (
	THeads   wire.Type = 300 // push, head → node, on the control stream of their session: Heads, at its beginning and at each change
	TForward wire.Type = 301 // call, head → head: an encoded command of the state → the encoded result
	TMember  wire.Type = 302 // call, head → head: nothing → Member
)

// Bounds of what is said of heads.
const (
	// MaxHeads is more than a cluster has, standbys included.
	MaxHeads = 16
	// MaxHeadID bounds Raft's name of a head.
	MaxHeadID = 64
	// MaxAddresses is how many addresses one head may have, of MaxHeadAddress bytes.
	MaxAddresses   = 8
	MaxHeadAddress = 300
	maxWhy         = 200 // bytes
)

// Conversation is the target of the stream on which a node speaks with a head that leads. A head that does not lead ends such a stream.
const Conversation = "conversation"

// HeadAt is a head, and where it is reached.
type HeadAt struct {
	ID        string   `msgpack:"id" json:"id"` // Raft's name of it
	Number    uint32   `msgpack:"number" json:"number"`
	Addresses []string `msgpack:"addresses" json:"addresses"` // HOST:PORT, in the order in which they are tried
	// Level says which commands of the replicated state the head knows (raftstate.Level); 0: it is of a build that did not say so, which was level 1.
	Level int `msgpack:"level,omitempty" json:"level,omitempty"`
}

// Heads is what a head knows of the heads of its cluster.
type Heads struct {
	// The versions of the messages between heads and nodes that the head speaks, as in a Hello. 0: it is of a build that did not say so.
	Version    int `msgpack:"version"`
	MinVersion int `msgpack:"min"`

	// Level is that of the commands of the replicated state that are in use (raftstate.Level); 0: none is noted yet.
	Level int `msgpack:"level"`

	From uint32 `msgpack:"from"` // the head that says it
	// Generation counts the recoveries, and Term is Raft's, in which Leader leads.
	Generation uint32   `msgpack:"generation"`
	Term       uint64   `msgpack:"term"`
	Leads      bool     `msgpack:"leads"`
	Leader     uint32   `msgpack:"leader"` // if Leads
	All        []HeadAt `msgpack:"all"`
	// Health is what From knows of all heads if it leads; else empty.
	Health []HeadHealth `msgpack:"health,omitempty"`
}

// HeadHealth is whether a head is well, as the one that leads sees it.
type HeadHealth struct {
	Number uint32 `msgpack:"number"`
	Voter  bool   `msgpack:"voter"`
	Why    string `msgpack:"why"` // why it is not healthy; empty: it is
}

// Before reports whether this was said before the other in the history of the cluster.
func (h *Heads) Before(other *Heads) bool {
	return h.Generation < other.Generation || h.Generation == other.Generation && h.Term < other.Term
}

// Check returns what is wrong with what a head has said.
func (h *Heads) Check() error {
	if len(h.Health) > MaxHeads {
		return fmt.Errorf("the health of %d heads, must be of at most %d", len(h.Health), MaxHeads)
	}
	for _, one := range h.Health {
		if len(one.Why) > maxWhy {
			return fmt.Errorf("why head %d is not healthy has %d bytes, must have at most %d", one.Number, len(one.Why), maxWhy)
		}
	}
	if err := CheckHeads(h.All); err != nil || h.Version == 0 {
		return err
	}
	return CheckVersion(fmt.Sprintf("head %d", h.From), h.Version, h.MinVersion)
}

// CheckHeads returns what is wrong with a list of heads.
func CheckHeads(list []HeadAt) error {
	if len(list) > MaxHeads {
		return fmt.Errorf("%d heads, must be at most %d", len(list), MaxHeads)
	}
	for _, h := range list {
		if h.ID == "" || len(h.ID) > MaxHeadID {
			return fmt.Errorf("the name of head %d has %d bytes, must have 1 to %d", h.Number, len(h.ID), MaxHeadID)
		}
		if len(h.Addresses) > MaxAddresses {
			return fmt.Errorf("head %d has %d addresses, must be at most %d", h.Number, len(h.Addresses), MaxAddresses)
		}
		for _, a := range h.Addresses {
			if err := CheckAddress(a); err != nil {
				return fmt.Errorf("head %d: %w", h.Number, err)
			}
		}
	}
	return nil
}

// CheckAddress refuses what another machine cannot dial. An address that begins with "/" would be a Unix socket on the machine of who dials.
func CheckAddress(a string) error {
	switch {
	case a == "" || len(a) > MaxHeadAddress:
		return fmt.Errorf("an address has %d bytes, must have 1 to %d", len(a), MaxHeadAddress)
	case strings.HasPrefix(a, "/"):
		return fmt.Errorf("the address %.100q is a path: must be HOST:PORT", a)
	}
	return nil
}

// SortHeads puts heads in the order of their numbers.
func SortHeads(list []HeadAt) {
	slices.SortFunc(list, func(a, b HeadAt) int { return cmp.Compare(a.Number, b.Number) })
}

// Member is what a head says of its place in the replicated state.
type Member struct {
	Stored  uint64 `msgpack:"stored"`  // the last index that is on its disk
	Applied uint64 `msgpack:"applied"` // the last index that its state shows
	Keys    uint64 `msgpack:"keys"`    // the version of the keyring that it has
	Lacks   int    `msgpack:"lacks"`   // large values that it is still to get from other heads
}

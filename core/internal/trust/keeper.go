package trust

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Setting is the setting of the cluster's state that has the keyring.
const Setting = "keyring"

// FormerSetting had the authority before there was a keyring.
const FormerSetting = "authority"

// State is what the keeper needs of the cluster's state. raftstate.Node has these methods.
type State interface {
	Setting(name string) ([]byte, bool)
	PutSetting(ctx context.Context, name string, value []byte) error
	ListNodes() []record.Node
	// LastNumber returns the highest number that a node or a head was given.
	LastNumber() (uint32, error)
	NodeGone(ctx context.Context, id ids.Node, reason string, atMs int64) error
}

// Links are the connections of the head. *link.Links has these methods.
type Links interface {
	Dead(node uint32) // ends all connections with a member, for ever
	Redial()          // begins all connections anew
}

// Options are what a keeper is made of.
type Options struct {
	State    State
	Cluster  pki.Cluster // of this head
	Token    pki.Token   // that this head was started with
	Insecure bool        // without TLS
	Own      func() (pki.Token, error)
	// IsHead reports whether a number is that of a head. Nil: there is one head, with number 0.
	IsHead func(number uint32) bool
	// Reign returns what puts a setting into the state only as long as this head leads without a break from now on. The state shows by then all that other heads have changed
	// before, and what is put is there, or will never be, when putting it returns. Nil: State.PutSetting does it, because no other head changes the state.
	Reign func() (put PutSetting, err error)
	// Waits returns the heads that do not have the keyring with that version yet and that a step waits for, if this head knows that, because it leads.
	// Nil: there are no other heads.
	Waits func(version uint64) (list []uint32, known bool)
	Log   *slog.Logger
}

// PutSetting changes a setting of the cluster's state.
type PutSetting func(ctx context.Context, name string, value []byte) error

// Keeper keeps the keyring of a cluster.
type Keeper struct {
	o        Options
	changing chan struct{} // has room for who makes a change
	renew    func()        // the head's own certificate
	links    Links         // set by Serve

	mu    sync.Mutex
	ring  *pki.Keyring
	ahead bool // the keyring came from another head, and the state of this one does not show it yet
	nodes map[uint32]*node
	asked uint64        // the number of the last question to the nodes
	heard chan struct{} // closed, and made anew, when a node has said something
}

// node is what a node has said on its present connection.
type node struct {
	peer  *wire.Peer
	have  uint64 // the version of the keyring that it has; 0: it has not said anything yet
	token int    // which token its machine has; 0: none of the cluster's
	asked uint64 // the last question that it has answered with a renewal
}

// ErrOtherToken is the error of a head whose token is none of the cluster's.
var ErrOtherToken = errors.New("the cluster that is kept here has another token")

// Open opens the keyring that is in the state, or makes one.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	k := &Keeper{o: o, changing: make(chan struct{}, 1), nodes: map[uint32]*node{}, heard: make(chan struct{}), renew: func() {}}
	if sealed, known := o.State.Setting(Setting); known {
		ring, err := pki.OpenKeyring(sealed, o.Token)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOtherToken, err)
		}
		k.ring = ring
		if ring.Cluster != o.Cluster {
			return nil, fmt.Errorf("the keys of the cluster are those of cluster %s, and this is %s", ring.Cluster, o.Cluster)
		}
		if ring.Signer() != nil || o.Insecure {
			return k, nil
		}
		// A cluster that went without TLS until now gets an authority.
		fresh, err := pki.NewKeyring(o.Cluster, o.Token, false, time.Now())
		if err != nil {
			return nil, err
		}
		fresh.Tokens, fresh.Version, fresh.Revoked = ring.Tokens, ring.Version+1, ring.Revoked
		return k, k.put(ctx, fresh, o.State.PutSetting)
	}
	ring, err := pki.NewKeyring(o.Cluster, o.Token, o.Insecure, time.Now())
	if err != nil {
		return nil, err
	}
	if sealed, known := o.State.Setting(FormerSetting); known && !o.Insecure { // of a release before there were keyrings
		a, err := pki.OpenAuthority(sealed, o.Token)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOtherToken, err)
		}
		ring.Authorities = []*pki.Authority{a}
	}
	return k, k.put(ctx, ring, o.State.PutSetting)
}

// Sealed returns the keyring, sealed with its tokens.
func (k *Keeper) Sealed() ([]byte, error) { return k.now().Seal() }

// Version is that of the keyring that this head has.
func (k *Keeper) Version() uint64 { return k.now().Version }

// put stores a keyring, and takes it when it is stored.
func (k *Keeper) put(ctx context.Context, ring *pki.Keyring, put PutSetting) error {
	sealed, err := ring.Seal()
	if err == nil {
		err = put(ctx, Setting, sealed)
	}
	if err != nil {
		return fmt.Errorf("keep the keys of the cluster: %w", err)
	}
	k.take(ring)
	return nil
}

// change makes one change of the keyring. Nothing is changed if how returns nil or the keyring that it was given. That is the one in the state, also when
// this head has begun to lead a moment ago and has not taken the last change of the head before yet: that change must not be lost.
func (k *Keeper) change(ctx context.Context, how func(*pki.Keyring) (*pki.Keyring, error)) error {
	select {
	case k.changing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-k.changing }()
	put := PutSetting(k.o.State.PutSetting)
	if k.o.Reign != nil {
		var err error
		if put, err = k.o.Reign(); err != nil {
			return err
		}
	}
	if _, err := k.catchUp(); err != nil && !k.isAhead() {
		return fmt.Errorf("the keys of the cluster are others by now, and this head cannot read them, so it changes nothing: %w", err)
	}
	before := k.now()
	ring, err := how(before)
	if err != nil || ring == nil || ring == before {
		return err
	}
	return k.put(ctx, ring, put)
}

// catchUp takes the keyring that is in the state, and returns it; nil: the state has none.
func (k *Keeper) catchUp() (*pki.Keyring, error) {
	sealed, known := k.o.State.Setting(Setting)
	if !known {
		return nil, nil
	}
	ring, err := k.open(sealed)
	if err == nil {
		k.take(ring)
	}
	return ring, err
}

// Counts returns an error if a token counts no more, as the state shows it.
func (k *Keeper) Counts(t pki.Token) error {
	if _, err := k.catchUp(); err != nil {
		return fmt.Errorf("this head does not have a token that counts, so it lets nobody in: %w", err)
	}
	if k.now().TokenNumber(t) == 0 {
		return fault.New(fault.BadRequest, "the token was ended (eagleray token finish), and nobody joins with it any more: use the one that has taken its place")
	}
	return nil
}

// now returns the keyring. It is not changed.
func (k *Keeper) now() *pki.Keyring {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ring
}

// take lets a keyring count from now on, and tells everybody.
func (k *Keeper) take(ring *pki.Keyring) {
	before, all := k.replace(ring)
	if before == nil || ring.Version <= before.Version {
		return
	}
	k.o.Log.Info("the keys of the cluster have changed", "version", ring.Version, "tokens", len(ring.Tokens), "authorities", len(ring.Authorities), "revoked", len(ring.Revoked))
	k.renew()
	for _, r := range ring.Revoked {
		if k.links != nil && !before.IsRevoked(r.Number) {
			k.links.Dead(r.Number)
		}
	}
	asked := k.ask()
	for _, n := range all {
		k.tell(n, ring, asked)
	}
	if k.links != nil && pki.Drops(before.Certificates(), ring.Certificates()) {
		k.links.Redial() // a head that was away may have missed all steps but the last one
	}
}

// replace notes a keyring unless there is a newer one, and returns the one before and the nodes that are connected.
func (k *Keeper) replace(ring *pki.Keyring) (before *pki.Keyring, all []*node) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before = k.ring
	if before == nil || ring.Version > before.Version {
		k.ring = ring
	}
	for _, n := range k.nodes {
		all = append(all, n)
	}
	return before, all
}

// Tokens returns those that count, the oldest one first.
func (k *Keeper) Tokens() []pki.Token { return k.now().Tokens }

// IsRevoked reports whether a member was revoked.
func (k *Keeper) IsRevoked(number uint32) bool { return k.now().IsRevoked(number) }

// Signs reports whether members have certificates. The keys may have an authority of a time with TLS while the head runs without.
func (k *Keeper) Signs() bool { return !k.o.Insecure && k.now().Signer() != nil }

// Sign returns a certificate, and all authorities. Without TLS there are none. A member that was revoked gets none.
func (k *Keeper) Sign(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, err error) {
	cert, authorities, _, err = k.sign(request, id)
	return cert, authorities, err
}

func (k *Keeper) sign(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, version uint64, err error) {
	ring := k.now()
	if ring.IsRevoked(id.Number) && id.Role != pki.RoleHead {
		return nil, nil, 0, fmt.Errorf("%s %d was revoked, so it gets no certificate", id.Role, id.Number)
	}
	if k.o.Insecure || ring.Signer() == nil {
		return nil, nil, ring.Version, nil
	}
	if id.Role != pki.RoleHead && id.Role != pki.RoleNode {
		return nil, nil, 0, fmt.Errorf("there are no certificates for the role %q: heads sign for heads and for nodes, because no other process is a member of a cluster", id.Role)
	}
	cert, err = ring.Signer().Sign(request, id, time.Now())
	return cert, ring.Certificates(), ring.Version, err
}

// Renews sets how the head gets a new certificate of its own. It is called before Serve.
func (k *Keeper) Renews(renew func()) { k.renew = renew }

// Serve gives the keeper the connections that it ends. It is called before there are any.
func (k *Keeper) Serve(links Links) {
	k.links = links
	for _, r := range k.now().Revoked {
		links.Dead(r.Number)
	}
}

// Changed takes a change of the state that another head has made. It reports whether the state has the keyring that counts here.
func (k *Keeper) Changed() bool {
	ring, err := k.catchUp()
	if err == nil {
		return ring != nil && k.shown(ring)
	}
	if k.isAhead() {
		k.o.Log.Info("the state of this head has keys of an earlier time; the present ones came from another head", "why", err)
		return false
	}
	k.o.Log.Error("the keys of the cluster have changed, and this head cannot read them", "error", err)
	return false
}

// open opens a keyring with the tokens that this head knows, and with those that are given.
func (k *Keeper) open(sealed []byte, more ...pki.Token) (ring *pki.Keyring, err error) {
	for _, t := range append(append(more, k.o.Token), k.Tokens()...) {
		if ring, err = pki.OpenKeyring(sealed, t); err == nil {
			return ring, nil
		}
	}
	return nil, err
}

// shown notes that the state has a keyring, and reports whether it is not older than the one that counts.
func (k *Keeper) shown(ring *pki.Keyring) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ring.Version < k.ring.Version {
		return false
	}
	k.ahead = false
	return true
}

// isAhead reports whether the keyring came from another head, and the state does not show it yet.
func (k *Keeper) isAhead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ahead
}

// Ahead says that the keyring with which this head begins came from another head, so that its state may have an older one.
func (k *Keeper) Ahead() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ahead = true
}

// Offered takes a keyring that another head has given, which has proved that token, if it is newer than the present one. It is for a head that the others
// do not let in, because they have replaced the authority without it. It reports whether the keyring counts from now on.
func (k *Keeper) Offered(sealed []byte, t pki.Token) (bool, error) {
	ring, err := k.open(sealed, t)
	if err != nil {
		return false, err
	}
	if ring.Cluster != k.o.Cluster {
		return false, fmt.Errorf("the keys are those of cluster %s, and this is %s", ring.Cluster, k.o.Cluster)
	}
	if ring.Version <= k.Version() {
		return false, nil
	}
	k.Ahead()
	k.take(ring)
	return true, nil
}

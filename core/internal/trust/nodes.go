package trust

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// maxRenew bounds the body of a Renew, in bytes.
const maxRenew = 8 << 10

// Connected begins to tell a node about keys, on a new connection. The peer's handler passes its messages to Handle.
func (k *Keeper) Connected(number uint32, p *wire.Peer) {
	asked := k.ask()
	n, ring := k.enter(number, p)
	go func() {
		<-p.Done()
		k.leave(number, n)
	}()
	k.tell(n, ring, asked)
}

// ask returns the number of a new question to the nodes.
func (k *Keeper) ask() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	return k.asked
}

func (k *Keeper) enter(number uint32, p *wire.Peer) (*node, *pki.Keyring) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := &node{peer: p}
	k.nodes[number] = n
	return n, k.ring
}

func (k *Keeper) leave(number uint32, n *node) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nodes[number] == n {
		delete(k.nodes, number)
	}
}

// tell has a node renew its certificate, and says who was revoked. A connection that breaks meanwhile begins anew, and then all is said again.
func (k *Keeper) tell(n *node, ring *pki.Keyring, asked uint64) {
	gone := linkmsg.Revoked{Numbers: []uint32{}}
	for _, r := range ring.Revoked {
		gone.Numbers = append(gone.Numbers, r.Number)
	}
	body, err := linkmsg.Encode("who was revoked", &gone)
	if err == nil {
		err = n.peer.Push(linkmsg.TRevoked, body)
	}
	if err == nil && !k.o.Insecure && ring.Signer() != nil {
		if body, err = linkmsg.Encode("a question", &linkmsg.Number{N: asked}); err == nil {
			err = n.peer.Push(linkmsg.TRekey, body)
		}
	}
	if err != nil {
		k.o.Log.Debug("a node hears of the keys later", "error", err)
	}
}

// Handle takes a message of a node, whose identity the connection has proved. It reports false for one that is not about keys.
func (k *Keeper) Handle(from pki.Identity, m *wire.Message) bool {
	switch m.Type {
	case linkmsg.TRenew:
		k.renewNode(from, m)
	case linkmsg.TRekeyed:
		var n linkmsg.Number
		if err := linkmsg.Decode(fmt.Sprintf("the keys of node %d", from.Number), m.Body, maxRenew, &n); err != nil {
			m.Peer().Close()
			return true
		}
		k.note(from.Number, m.Peer(), func(said *node) { said.have = n.N })
	default:
		return false
	}
	return true
}

// renewNode answers a request for a certificate.
func (k *Keeper) renewNode(from pki.Identity, m *wire.Message) {
	var q linkmsg.Renew
	err := linkmsg.Decode(fmt.Sprintf("a renewal of node %d", from.Number), m.Body, maxRenew, &q)
	var a linkmsg.Renewed
	if err == nil {
		a.Cert, a.Authorities, a.Version, err = k.sign(q.Request, from)
	}
	if err == nil && a.Cert == nil {
		err = fault.New(fault.BadRequest, "this cluster goes without TLS, so there are no certificates")
	}
	if err == nil {
		k.note(from.Number, m.Peer(), func(n *node) {
			n.token = k.ring.TokenOfTag(q.Tag, linkmsg.TagText(from.String()))
			n.asked = q.Asked
		})
		var body any
		if body, err = linkmsg.Encode("a certificate", &a); err == nil {
			_ = m.Reply(body) // a connection that breaks begins anew, and the node asks again
			return
		}
	}
	k.o.Log.Warn("a node gets no new certificate", "node", from.Number, "error", err)
	_ = m.Fail(fault.New(fault.BadRequest, "%v", err))
}

// note notes what a node has said on its present connection.
func (k *Keeper) note(number uint32, p *wire.Peer, what func(*node)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.nodes[number]
	if n == nil || n.peer != p {
		return
	}
	what(n)
	close(k.heard)
	k.heard = make(chan struct{})
}

// living returns the nodes that are alive and were not revoked.
func (k *Keeper) living() (list []record.Node) {
	ring := k.now()
	for _, n := range k.o.State.ListNodes() {
		if n.State != record.NodeDead && !ring.IsRevoked(n.Number) {
			list = append(list, n)
		}
	}
	return list
}

// current reports whether all living nodes have the present keyring, and returns what tells that one of them has said something.
func (k *Keeper) current() (all bool, heard <-chan struct{}) {
	version, all, heard := k.nodesHave(k.living())
	if all && k.o.Waits != nil {
		waits, known := k.o.Waits(version)
		all = known && len(waits) == 0
	}
	return all, heard
}

func (k *Keeper) nodesHave(living []record.Node) (version uint64, all bool, heard <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range living {
		if said := k.nodes[n.Number]; said == nil || said.have != k.ring.Version {
			return k.ring.Version, false, k.heard
		}
	}
	return k.ring.Version, true, k.heard
}

// lookAgain is how often Step looks whether the nodes that it waits for are alive.
const lookAgain = time.Second

// Step makes the steps of a replacement of the authority, until the context ends. leads says whether this head makes them now; nil: it always does.
func (k *Keeper) Step(ctx context.Context, leads func() bool) {
	for {
		all, heard := k.current()
		if all && (leads == nil || leads()) && len(k.now().Authorities) > 1 {
			err := k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.Step(), nil })
			if err == nil {
				continue
			}
			k.o.Log.Warn("the replacement of the authority waits", "error", err)
		}
		timer := time.NewTimer(lookAgain)
		select {
		case <-heard:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

package nodeprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Bounds of what a head says about keys.
const (
	maxKeys    = 64 << 10        // bytes of a message
	renewLimit = 5 * time.Second // for an answer
)

// keysMessage takes a head's message about keys. It reports false for another message.
func (m *member) keysMessage(msg *wire.Message) bool {
	switch msg.Type {
	case linkmsg.TRekey:
		var asked linkmsg.Number
		if err := linkmsg.Decode("a question for a renewal", msg.Body, maxKeys, &asked); err != nil {
			msg.Peer().Close()
			return true
		}
		select {
		case m.rekey <- rekeying{msg.Peer(), asked.N}:
		default: // it has asked many times and will hear of the next one
		}
	case linkmsg.TRevoked:
		var gone linkmsg.Revoked
		if err := linkmsg.Decode("who was revoked", msg.Body, maxKeys, &gone); err != nil || len(gone.Numbers) > linkmsg.MaxRevoked {
			m.log.Warn("a message about revoked members is refused", "error", err, "members", len(gone.Numbers))
			msg.Peer().Close()
			return true
		}
		m.noteRevoked(gone.Numbers)
		m.revoked(gone.Numbers)
	default:
		return false
	}
	return true
}

// rekeying is a head's wish that this node gets a new certificate.
type rekeying struct {
	head  *wire.Peer
	asked uint64 // the number of the question
}

// revoked ends the connections with members that were revoked.
func (m *member) revoked(numbers []uint32) {
	for _, number := range m.newlyRevoked(numbers) {
		m.log.Warn("a member was revoked: its connections end", "node", number)
		if number == m.identity.Number {
			m.isDead("it was revoked")
			continue
		}
		m.links.Dead(number)
		m.daemon.NodeGone(number)
	}
}

func (m *member) noteRevoked(numbers []uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = numbers
}

// revokedAgain looks again at who was revoked: a head is not cut off before it is known that it is no head any more.
func (m *member) revokedAgain() { m.revoked(m.toldRevoked()) }

func (m *member) toldRevoked() []uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

func (m *member) newlyRevoked(numbers []uint32) (fresh []uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, number := range numbers {
		if !m.gone[number] && !m.heads.has(number) {
			m.gone[number] = true
			fresh = append(fresh, number)
		}
	}
	return fresh
}

// admit refuses members that were revoked.
func (m *member) admit(peer pki.Identity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone[peer.Number] {
		return fmt.Errorf("%w: node %d was revoked", link.ErrDead, peer.Number)
	}
	return nil
}

// rekeys gets a certificate whenever a head says so, from that head, until the node ends.
func (m *member) rekeys(ctx context.Context) {
	for {
		select {
		case q := <-m.rekey:
			if m.keys == nil || q.head.Err() != nil {
				continue
			}
			if err := m.renewOver(ctx, q.head, q.asked, m.keys); err != nil && ctx.Err() == nil {
				m.log.Warn("no new certificate; the present one is used on", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// renew installs a new certificate. A head that this node is connected with gives it, because the node has a certificate. While there is none, any
// head gives it for the token.
func (m *member) renew(ctx context.Context, keys *pki.Keys) error {
	if p := m.headPeer(); p != nil {
		err := m.renewOver(ctx, p, 0, keys)
		if err == nil || ctx.Err() != nil {
			return err
		}
		m.log.Warn("the head gives no certificate over its connection; a head is asked for one with the token", "error", err)
	}
	return m.asker().Renew(ctx, keys)
}

// asker asks at all addresses at which a head may be, with the token that this machine has now: it may be another one than at the start.
func (m *member) asker() *join.Client {
	asks := *m.asks
	asks.Heads = m.heads.everywhere()
	if t, err := m.conf.Token.Read(); err == nil {
		m.token.Store(&t)
		asks.Token = t
	}
	return &asks
}

// webTokens returns the token that counts for what this node serves over HTTP: the one that its machine has, as it was read last. That is read when a head asks
// for a renewal, as each head does when the token is replaced.
func (m *member) webTokens() []pki.Token {
	return []pki.Token{*m.token.Load()}
}

// headConnected notes the control stream of a new session with a head.
func (m *member) headConnected(number uint32, p *wire.Peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.headPeers[number] = p
}

// headPeer returns the control stream with the head that leads, else with another one; nil if there is none.
func (m *member) headPeer() (p *wire.Peer) {
	leader := m.heads.leading()
	m.mu.Lock()
	defer m.mu.Unlock()
	for number, one := range m.headPeers {
		if one.Err() == nil && (p == nil || number == leader) {
			p = one
		}
	}
	return p
}

func (m *member) renewOver(ctx context.Context, p *wire.Peer, asked uint64, keys *pki.Keys) error {
	request, err := keys.Request()
	if err != nil {
		return err
	}
	q := linkmsg.Renew{Request: request, Asked: asked}
	if t, err := m.conf.Token.Read(); err != nil {
		m.log.Warn("this machine has no token that can be read, so the node could not join again after its next start", "error", err)
	} else {
		m.token.Store(&t)
		q.Tag = t.Tag(linkmsg.TagText(m.identity.String()))
	}
	body, err := linkmsg.Encode("a renewal", &q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	var answer msgpack.RawMessage
	if err := p.Call(ctx, linkmsg.TRenew, body, &answer); err != nil {
		return err
	}
	var a linkmsg.Renewed
	if err := linkmsg.Decode("the head's answer to a renewal", answer, maxKeys, &a); err != nil {
		return err
	}
	id, err := keys.Install(a.Cert, a.Authorities)
	if err == nil && id != m.identity {
		err = fmt.Errorf("%w: it is for %s, and this is %s", pki.ErrCertificate, id, m.identity)
	}
	if err != nil {
		return err
	}
	body, err = linkmsg.Encode("the keys of this node", &linkmsg.Number{N: a.Version})
	if err == nil {
		err = p.Push(linkmsg.TRekeyed, body)
	}
	return err
}

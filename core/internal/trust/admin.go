package trust

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/record"
)

// askLimit is how long nodes may take to say which token they have.
const askLimit = 3 * time.Second

// Admin does what somebody asks for who has proved a token, and says how things are then.
func (k *Keeper) Admin(ctx context.Context, proved pki.Token, q linkmsg.Admin) (a linkmsg.AdminAnswer, err error) {
	if q.Op != linkmsg.AdminStatus && q.Op != linkmsg.AdminFindToken && !k.Signs() {
		return a, errors.New("this cluster goes without TLS (--insecure): there everybody on the network could read a new token, and nobody is kept from saying that he is another node. End the cluster, and begin it with TLS or with another token")
	}
	switch q.Op {
	case linkmsg.AdminStatus:
		_, _ = k.catchUp() // a head that does not lead has perhaps not taken the last change yet
		k.askAll(ctx)
	case linkmsg.AdminAddToken:
		err = k.addToken(ctx, q)
	case linkmsg.AdminFinishToken:
		err = k.finishToken(ctx, proved, q.Force)
	case linkmsg.AdminWithdrawToken:
		err = k.withdrawToken(ctx, proved, q.Force)
	case linkmsg.AdminFindToken:
		err = k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) {
			a.Found = r.TokenOfTag(q.Tag, linkmsg.FindText)
			return nil, nil
		})
	case linkmsg.AdminRotateAuthority:
		err = k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.AddAuthority(time.Now()) })
	case linkmsg.AdminRevoke:
		a.Node, err = k.revoke(ctx, q.Node)
	default:
		err = fmt.Errorf("this head does not know the request %.40q", q.Op)
	}
	if err != nil {
		return a, err
	}
	k.o.Log.Info("the keys were looked after", "request", q.Op)
	return k.status(proved, a), nil
}

// maxFrom bounds the name of the place where a token is kept.
const maxFrom = 500

func (k *Keeper) addToken(ctx context.Context, q linkmsg.Admin) error {
	t, err := pki.ParseToken(q.Token, q.From[:min(len(q.From), maxFrom)])
	if err != nil {
		return err
	}
	return k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.AddToken(t) })
}

// finishToken ends the old token. It is refused while a machine has the old one: after its next start it could not join any more.
func (k *Keeper) finishToken(ctx context.Context, proved pki.Token, force bool) error {
	if _, err := k.now().KeepToken(proved); err != nil {
		return err
	}
	if !k.headHas(len(k.Tokens())) {
		return fmt.Errorf("the head's own machine still has the old token (%s), so the head could not start again: put the new one there first", k.o.Token.From())
	}
	if old := k.without(ctx, proved, len(k.Tokens())); len(old) > 0 && !force {
		return fmt.Errorf("%d of the nodes do not have the new token yet, and could not join again after their next start: %s. Put it there first, or end the old one all the same with --force", len(old), strings.Join(old, ", "))
	}
	return k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.KeepToken(proved) })
}

// withdrawToken ends the new token. It is refused while a machine has the new one.
func (k *Keeper) withdrawToken(ctx context.Context, proved pki.Token, force bool) error {
	if _, err := k.now().WithdrawToken(proved); err != nil {
		return err
	}
	if !k.headHas(1) {
		return errors.New("the head's own machine does not have the old token any more, so the head could not start again: put the old one there first")
	}
	if left := k.without(ctx, proved, 1); len(left) > 0 && !force {
		return fmt.Errorf("%d of the nodes do not have the old token, and could not join again after their next start: %s. Put it there first, or end the new one all the same with --force", len(left), strings.Join(left, ", "))
	}
	return k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.WithdrawToken(proved) })
}

// headHas reports whether the head's machine has that token now, counted from 1.
func (k *Keeper) headHas(number int) bool {
	own, err := k.o.Own()
	return err == nil && k.now().TokenNumber(own) == number
}

// without asks the nodes, and returns those whose machines do not have that token, counted from 1.
func (k *Keeper) without(ctx context.Context, proved pki.Token, number int) (list []string) {
	k.askAll(ctx)
	for _, n := range k.status(proved, linkmsg.AdminAnswer{}).Nodes {
		if n.Token != number {
			list = append(list, fmt.Sprintf("%s (node %d at %s)", n.Name, n.Number, n.Address))
		}
	}
	return list
}

// askAll has all nodes say which token they have, and waits until the living ones have done so.
func (k *Keeper) askAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	ring, asked := k.now(), k.ask()
	for _, n := range k.connected() {
		k.tell(&n, ring, asked)
	}
	for {
		heard := k.hearing()
		now, missing := k.connected(), 0
		for _, n := range k.living() {
			if now[n.Number].asked < asked {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return
		}
	}
}

// hearing returns what tells that a node says something after now.
func (k *Keeper) hearing() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.heard
}

// connected returns what the nodes have said that are connected.
func (k *Keeper) connected() map[uint32]node {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[uint32]node{}
	for number, n := range k.nodes {
		all[number] = *n
	}
	return all
}

// revoke takes a member's certificate from it. It returns who that was.
func (k *Keeper) revoke(ctx context.Context, name string) (string, error) {
	known, number, err := k.named(name)
	if err != nil {
		return "", err
	}
	if k.o.IsHead != nil && k.o.IsHead(number) || k.o.IsHead == nil && number == headNumber {
		return "", fmt.Errorf("%d is a head, and a head is not revoked as long as it is one: `eagleray heads remove %d` removes it, and its certificate counts no more then. Its folder has the key of the authority, so replace the token and the authority, too", number, number)
	}
	const why = "it was revoked"
	if err := k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) { return r.Revoke(number, why, time.Now()) }); err != nil {
		return "", err
	}
	if known == nil {
		return fmt.Sprintf("number %d, which no node has registered with", number), nil
	}
	err = k.o.State.NodeGone(ctx, known.ID, why, time.Now().UnixMilli())
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return "", fmt.Errorf("its certificate does not count any more, and it cannot be declared dead now: %w", err)
	}
	return fmt.Sprintf("node %d (%s at %s)", number, known.Name, known.Address), nil
}

// RevokeHead takes its certificate from a head that was removed from the cluster. Once more is no error.
func (k *Keeper) RevokeHead(ctx context.Context, number uint32) error {
	if k.now().Signer() == nil || k.IsRevoked(number) {
		return nil
	}
	return k.change(ctx, func(r *pki.Keyring) (*pki.Keyring, error) {
		return r.Revoke(number, "this head was removed", time.Now())
	})
}

// headNumber is that of a head: process.HeadNumber.
const headNumber = 0

// shortestID is how many digits of an id name a node at least.
const shortestID = 6

// named finds the node that a text means: its number, its name, or the beginning of its id, which may have decimal digits only. A number may be one that no node has registered with, if
// it was given to one.
func (k *Keeper) named(text string) (*record.Node, uint32, error) {
	var found []record.Node
	number, err := strconv.ParseUint(text, 10, 32)
	for _, n := range k.o.State.ListNodes() {
		switch {
		case err == nil && n.Number == uint32(number), err != nil && n.Name == text && n.State != record.NodeDead,
			len(text) >= shortestID && strings.HasPrefix(n.ID.String(), text):
			found = append(found, n)
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], found[0].Number, nil
	case len(found) > 1:
		return nil, 0, fmt.Errorf("%d nodes are meant by %.100q: give the number of one, or more digits of its id, which `eagleray list nodes` shows", len(found), text)
	case err == nil:
		last, err := k.o.State.LastNumber()
		if err == nil && uint32(number) > last {
			err = fmt.Errorf("no node has had the number %d, and no id begins with it: `eagleray list nodes` shows the numbers, the names and the ids of the nodes", number)
		}
		return nil, uint32(number), err
	}
	return nil, 0, fmt.Errorf("no node has the name, the number or an id that begins with %.100q: `eagleray list nodes` shows them", text)
}

// status says how things are.
func (k *Keeper) status(proved pki.Token, a linkmsg.AdminAnswer) linkmsg.AdminAnswer {
	ring, said := k.now(), k.connected()
	for _, t := range ring.Tokens {
		a.Tokens = append(a.Tokens, t.From())
	}
	a.Proved = ring.TokenNumber(proved)
	if own, err := k.o.Own(); err == nil {
		a.HeadHas = ring.TokenNumber(own)
	}
	if k.Signs() {
		for _, authority := range ring.Authorities {
			a.Authorities = append(a.Authorities, authority.Short())
		}
	}
	a.Signing = ring.Signing
	for _, n := range k.living() {
		s := said[n.Number]
		if len(a.Nodes) < mostNodes && !k.o.Insecure { // without TLS nodes are not asked which token they have
			a.Nodes = append(a.Nodes, linkmsg.AdminNode{Number: n.Number, Name: n.Name, Address: n.Address, Token: s.token, Heard: s.asked > 0, Current: s.have == ring.Version})
		}
	}
	if k.o.Waits != nil && len(ring.Authorities) > 1 {
		a.HeadsWait, _ = k.o.Waits(ring.Version)
	}
	for _, r := range ring.Revoked {
		a.Revoked = append(a.Revoked, r.Number)
	}
	return a
}

// mostNodes bounds an answer, which has at most pki.MaxAnswer bytes.
const mostNodes = 400

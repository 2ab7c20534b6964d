package join

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// Times of a join.
const (
	// Patience is how long Join and Renew try the addresses.
	Patience = 5 * time.Second
	tryTime  = 2500 * time.Millisecond // for one address, while the others wait
	tryPause = 200 * time.Millisecond
)

// Client is a process that knows the token, as it asks a head.
type Client struct {
	Heads    []string // HOST:PORT; names are resolved at each attempt
	Token    pki.Token
	Insecure bool     // without TLS
	Node     ids.Node // the node that it speaks of
	Release  string   // of this program
}

// Membership is what a node gets.
type Membership struct {
	Identity pki.Identity
	Keys     *pki.Keys // with the certificate; nil without TLS
	Address  string    // the IP address of this machine on the way to the head
	Warning  string    // that the head is of another release; empty: it is of the same

	Heads  linkmsg.Heads // as the head that has answered knows them
	Sealed []byte        // for a head: the authority, sealed with the token; none without TLS
}

// Join asks for a number and, with TLS, for a certificate.
func (c *Client) Join(ctx context.Context) (m Membership, err error) {
	if !c.Insecure {
		if m.Keys, err = pki.NewKeys(); err != nil {
			return m, err
		}
	}
	return m, c.become(ctx, linkmsg.Join{Kind: linkmsg.JoinNode}, &m)
}

// JoinHead asks for a number as a further head, with the name and the addresses that it has. The head signs its certificates itself, with the authority.
func (c *Client) JoinHead(ctx context.Context, at linkmsg.HeadAt) (m Membership, err error) {
	if !c.Insecure { // the certificate is not used; it shows that the authority may sign for this head
		if m.Keys, err = pki.NewKeys(); err != nil {
			return m, err
		}
	}
	return m, c.become(ctx, linkmsg.Join{Kind: linkmsg.JoinHead, Head: at}, &m)
}

// become asks to be a node or a head.
func (c *Client) become(ctx context.Context, q linkmsg.Join, m *Membership) error {
	id, address, joined, err := c.certify(ctx, q, m.Keys)
	if err != nil {
		return err
	}
	m.Identity, m.Address, m.Heads, m.Sealed = id, address, joined.Heads, joined.Sealed
	m.Warning = linkmsg.OtherRelease("the head of the cluster", joined.Release, c.Release)
	return nil
}

// Where asks where the heads are, at all addresses, and hands on what each head answers. Another cluster may be at an address by now: its refusal ends nothing. The error is nil
// if a head has answered.
func (c *Client) Where(ctx context.Context, answered func(linkmsg.Heads)) error {
	var failed []string
	var causes []error
	for _, head := range c.Heads {
		_, joined, _, err := c.try(ctx, head, pki.Ask{}, linkmsg.Join{Kind: linkmsg.JoinHeads})
		if err == nil {
			err = joined.Heads.Check()
		}
		if err != nil {
			failed, causes = append(failed, err.Error()), append(causes, err)
			continue
		}
		answered(joined.Heads)
	}
	if len(causes) < len(c.Heads) {
		return nil
	}
	return &triedError{strings.Join(failed, "; "), causes}
}

// Keys are what a head answers to a head of its cluster that was away.
type Keys struct {
	From    string        // the address of the head that has answered
	Heads   linkmsg.Heads // as that head knows them
	Sealed  []byte        // the present keys of the cluster
	Removed bool          // the cluster has no such head, and there are no keys
}

// moreKeys is how long Keys waits for further answers when it has one: another head may know better.
const moreKeys = 300 * time.Millisecond

// Keys asks all addresses at once for the keys of the cluster, as the head of that cluster with that name and number, and returns what was answered. The error is nil if a head has
// answered. Another cluster may be at an address by now: its refusal ends nothing.
func (c *Client) Keys(ctx context.Context, of pki.Cluster, at linkmsg.HeadAt) ([]Keys, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		keys Keys
		err  error
	}
	answers := make(chan answer, len(c.Heads))
	for _, head := range c.Heads {
		go func() {
			_, joined, _, err := c.try(ctx, head, pki.Ask{}, linkmsg.Join{Kind: linkmsg.JoinKeys, Of: of[:], Head: at})
			if err == nil {
				err = joined.Heads.Check()
			}
			answers <- answer{Keys{head, joined.Heads, joined.Sealed, joined.Removed}, err}
		}()
	}
	var found []Keys
	failed := &triedError{}
	for range c.Heads {
		a := <-answers // try ends with the context
		if a.err == nil {
			found = append(found, a.keys)
			time.AfterFunc(moreKeys, cancel)
			continue
		}
		failed.causes = append(failed.causes, a.err)
		if failed.text != "" {
			failed.text += "; "
		}
		failed.text += a.err.Error()
	}
	if len(found) > 0 {
		return found, nil
	}
	return nil, failed
}

// Status asks the head that leads for what it knows of all heads, and for the level of commands that is in use.
func (c *Client) Status(ctx context.Context) (list []linkmsg.HeadStatus, level int, err error) {
	joined, err := c.askLeader(ctx, linkmsg.Join{Kind: linkmsg.JoinHeads})
	return joined.Status, joined.Heads.Level, err
}

// Change has the heads do something. Nil number: the heads choose.
func (c *Client) Change(ctx context.Context, what linkmsg.HeadChange, number *uint32) error {
	q := linkmsg.Join{Kind: linkmsg.JoinChange, Change: what, Given: number != nil}
	if number != nil {
		q.Head.Number = *number
	}
	_, err := c.askLeader(ctx, q)
	return err
}

// ErrNoLeader says that no head leads at present, or that the one that leads cannot be reached from here.
var ErrNoLeader = errors.New("no head that leads can be reached: a majority of the heads with a vote must run and reach each other")

// leaderLimit is how long a leader is looked for.
const leaderLimit = 20 * time.Second

// askLeader asks at the addresses until the head that leads has answered.
func (c *Client) askLeader(ctx context.Context, q linkmsg.Join) (linkmsg.Joined, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderLimit)
	defer cancel()
	at := *c
	for turn := 1; ; turn++ {
		_, joined, _, err := at.ask(ctx, pki.Ask{}, q)
		if err == nil && !joined.NotLeader || final(err) {
			return joined, err
		}
		// The head that answers may be cut off from the others, and then never hears who leads: the next time another one is asked first.
		next := turn % max(len(c.Heads), 1)
		at.Heads = slices.Concat(c.Heads[next:], c.Heads[:next])
		for _, h := range joined.Heads.All {
			if err == nil && joined.Heads.Leads && h.Number == joined.Heads.Leader && h.Number != joined.Heads.From {
				at.Heads = h.Addresses
			}
		}
		select {
		case <-time.After(tryPause):
		case <-ctx.Done():
			return joined, errors.Join(ErrNoLeader, err)
		}
	}
}

// Renew installs a new certificate for the number that the keys have.
func (c *Client) Renew(ctx context.Context, keys *pki.Keys) error {
	_, _, _, err := c.certify(ctx, linkmsg.Join{Kind: linkmsg.JoinRenew}, keys)
	return err
}

// Ended says that no process of the node lives any more. It tries once at each address.
func (c *Client) Ended(ctx context.Context, reason string) error {
	_, _, _, err := c.once(ctx, pki.Ask{}, linkmsg.Join{Kind: linkmsg.JoinEnded, Reason: cut(reason)})
	return err
}

// Admin asks the head that leads to do something about the keys of the cluster.
func (c *Client) Admin(ctx context.Context, q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
	joined, err := c.askLeader(ctx, linkmsg.Join{Kind: linkmsg.JoinAdmin, Admin: q})
	return joined.Admin, err
}

// certify asks for an identity, and installs its certificate. Nil keys: there is none. It returns the whole answer of the head, too.
func (c *Client) certify(ctx context.Context, q linkmsg.Join, keys *pki.Keys) (id pki.Identity, address string, joined linkmsg.Joined, err error) {
	var ask pki.Ask
	if keys != nil {
		if ask.Request, err = keys.Request(); err != nil {
			return id, "", joined, err
		}
	}
	var answer pki.Answer
	answer, joined, address, err = c.ask(ctx, ask, q)
	if err != nil {
		return id, "", joined, err
	}
	if id, err = pki.ParseIdentity(joined.Identity); err == nil {
		err = joined.Heads.Check()
	}
	if err != nil {
		return id, "", joined, fmt.Errorf("the head's answer: %w", err)
	}
	if keys == nil {
		return id, address, joined, nil
	}
	certified, err := keys.Install(answer.Cert, answer.Authorities)
	if err == nil && certified != id {
		err = fmt.Errorf("%w: it is for %s, and the head has said %s", pki.ErrCertificate, certified, id)
	}
	if err != nil {
		return id, "", joined, fmt.Errorf("the head's answer: %w", err)
	}
	return id, address, joined, nil
}

// ask tries all addresses until one answers, the patience is over, or it is clear that trying does not help.
func (c *Client) ask(ctx context.Context, ask pki.Ask, q linkmsg.Join) (pki.Answer, linkmsg.Joined, string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	var before error // of the attempt before
	for {
		answer, joined, address, err := c.once(ctx, ask, q)
		if err == nil || final(err) {
			return answer, joined, address, err
		}
		if before != nil && ctx.Err() != nil {
			err = before // the time ended during this attempt, whose error says only that
		}
		before = err
		pause := time.NewTimer(tryPause)
		select {
		case <-pause.C:
			continue
		case <-ctx.Done():
		}
		pause.Stop()
		return answer, joined, "", fmt.Errorf("no head answers: %w; `eagleray start --head` prints its address: is it still running, and may this machine reach the port?", err)
	}
}

// once tries each address once.
func (c *Client) once(ctx context.Context, ask pki.Ask, q linkmsg.Join) (pki.Answer, linkmsg.Joined, string, error) {
	var failed []string
	var causes []error
	for _, head := range c.Heads {
		answer, joined, address, err := c.try(ctx, head, ask, q)
		if err == nil || final(err) {
			return answer, joined, address, err
		}
		failed, causes = append(failed, err.Error()), append(causes, err)
	}
	return pki.Answer{}, linkmsg.Joined{}, "", &triedError{strings.Join(failed, "; "), causes}
}

// triedError is why no address has answered.
type triedError struct {
	text   string
	causes []error
}

func (e *triedError) Error() string   { return e.text }
func (e *triedError) Unwrap() []error { return e.causes }

// final reports whether another attempt would give the same error.
func final(err error) bool {
	var refused *pki.RefusedError
	var other *pki.VersionError
	var f *fault.Error
	return errors.As(err, &refused) || errors.As(err, &other) || errors.Is(err, pki.ErrWrongToken) ||
		errors.As(err, &f) && f.Code == fault.VersionMismatch
}

func (c *Client) try(ctx context.Context, head string, ask pki.Ask, q linkmsg.Join) (answer pki.Answer, joined linkmsg.Joined, address string, err error) {
	q.Version, q.MinVersion, q.Release, q.Node = linkmsg.Version, linkmsg.MinVersion, c.Release, c.Node
	body, err := linkmsg.Encode("the request to join", &q)
	if err != nil {
		return answer, joined, "", err
	}
	ask.Body = body
	dialing, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	conn, channel, err := link.DialJoin(dialing, head, c.Insecure)
	if err != nil {
		return answer, joined, "", c.explain(head, err)
	}
	defer conn.Close()
	if answer, err = pki.JoinClient(ctx, channel, c.Token, ask); err != nil {
		return answer, joined, "", c.explain(head, err)
	}
	who := "the head at " + head
	if err = linkmsg.Decode("the answer of "+who, answer.Body, pki.MaxAnswer, &joined); err != nil {
		return answer, joined, "", err
	}
	if err = linkmsg.CheckRelease(who, joined.Release, c.Release, joined.Version, joined.MinVersion); err != nil {
		return answer, joined, "", err
	}
	if at, ok := conn.LocalAddr().(*net.TCPAddr); ok {
		address = at.IP.String()
	}
	return answer, joined, address, nil
}

// explain adds to an error which address it is about, and what it may mean that the two ends do not understand each other.
func (c *Client) explain(head string, err error) error {
	text := err.Error()
	if !strings.Contains(text, head) {
		err = fmt.Errorf("head at %s: %w", head, err)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" || final(err) {
		return err
	}
	if errors.Is(err, io.EOF) || strings.Contains(text, "closed the connection") || strings.Contains(text, "connection reset") || strings.Contains(text, "broken pipe") {
		if c.Insecure {
			return fmt.Errorf("%w (if the head was started without --insecure, leave --insecure out here)", err)
		}
		return fmt.Errorf("%w (if the head was started with --insecure, give --insecure here, too)", err)
	}
	return err
}

// maxReason bounds how a node's end is described.
const maxReason = 500

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

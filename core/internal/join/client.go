package join

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
}

// Join asks for a number and, with TLS, for a certificate.
func (c *Client) Join(ctx context.Context) (m Membership, err error) {
	if !c.Insecure {
		if m.Keys, err = pki.NewKeys(); err != nil {
			return m, err
		}
	}
	var head string
	m.Identity, m.Address, head, err = c.certify(ctx, linkmsg.JoinNode, m.Keys)
	if err == nil {
		m.Warning = linkmsg.OtherRelease("the head of the cluster", head, c.Release)
	}
	return m, err
}

// Renew installs a new certificate for the number that the keys have.
func (c *Client) Renew(ctx context.Context, keys *pki.Keys) error {
	_, _, _, err := c.certify(ctx, linkmsg.JoinRenew, keys)
	return err
}

// Ended says that no process of the node lives any more. It tries once at each address.
func (c *Client) Ended(ctx context.Context, reason string) error {
	_, _, _, err := c.once(ctx, pki.Ask{}, linkmsg.Join{Kind: linkmsg.JoinEnded, Reason: cut(reason)})
	return err
}

// Admin asks a head to do something about the keys of the cluster.
func (c *Client) Admin(ctx context.Context, q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
	_, joined, _, err := c.askOf(ctx, pki.Ask{}, linkmsg.Join{Kind: linkmsg.JoinAdmin, Admin: q})
	return joined.Admin, err
}

// certify asks for an identity, and installs its certificate. Nil keys: there is none. It returns the release of the head, too.
func (c *Client) certify(ctx context.Context, kind linkmsg.JoinKind, keys *pki.Keys) (id pki.Identity, address, release string, err error) {
	var ask pki.Ask
	if keys != nil {
		if ask.Request, err = keys.Request(); err != nil {
			return id, "", "", err
		}
	}
	answer, joined, address, err := c.askOf(ctx, ask, linkmsg.Join{Kind: kind})
	if err != nil {
		return id, "", "", err
	}
	if id, err = pki.ParseIdentity(joined.Identity); err != nil {
		return id, "", "", fmt.Errorf("the head's answer: %w", err)
	}
	if keys == nil {
		return id, address, joined.Release, nil
	}
	certified, err := keys.Install(answer.Cert, answer.Authorities)
	if err == nil && certified != id {
		err = fmt.Errorf("%w: it is for %s, and the head has said %s", pki.ErrCertificate, certified, id)
	}
	if err != nil {
		return id, "", "", fmt.Errorf("the head's answer: %w", err)
	}
	return id, address, joined.Release, nil
}

// askOf tries all addresses until one answers, the patience is over, or it is clear that trying does not help.
func (c *Client) askOf(ctx context.Context, ask pki.Ask, q linkmsg.Join) (pki.Answer, linkmsg.Joined, string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		answer, joined, address, err := c.once(ctx, ask, q)
		if err == nil || final(err) {
			return answer, joined, address, err
		}
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
	if errors.Is(err, io.EOF) || strings.Contains(text, "closed the connection") || strings.Contains(text, "connection reset") {
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

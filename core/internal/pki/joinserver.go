package pki

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// How long the parts of the conversation may take.
const (
	proofTime  = 5 * time.Second  // until the other end has proved itself
	decideTime = 25 * time.Second // until the head has decided: the cluster may have to choose a leader first
	answerTime = 30 * time.Second // until the answer is there
)

// ErrNotProved is the error of a process that did not prove that it knows the token.
var ErrNotProved = errors.New("not proved")

// JoinServer speaks with a process that joins, as the head. It proves that it knows the
// tokens, has the other side prove the same for one of them, and asks decide, whose error is
// the reason of a refusal. It returns nil when the process was let in and has been sent
// its answer; the error of decide when it was refused. The connection stays open. Decide is
// called when the proof was right, so that it can begin with Stranger.Known.
func JoinServer(ctx context.Context, c Channel, tokens []Token, decide func(context.Context, Ask) (Answer, error)) error {
	if len(tokens) == 0 || len(tokens) > maxTokens || slices.ContainsFunc(tokens, Token.missing) {
		return fmt.Errorf("let %s join: the head has %d tokens, must be 1 to %d, none of them empty", c.peer(), len(tokens), maxTokens)
	}
	defer c.watch(ctx)()
	if err := c.within(ctx, proofTime); err != nil {
		return err
	}
	said, used, ask, err := c.hear(tokens)
	if err != nil {
		return because(ctx, err)
	}
	deciding, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	answer, reason := decide(deciding, ask)
	if len(answer.Authorities) > maxAuthorities {
		return fmt.Errorf("let %s join: the answer has %d authorities, at most %d are read", c.peer(), len(answer.Authorities), maxAuthorities)
	}
	body := answer.encode(reason)
	if len(body) > MaxAnswer-proofSize {
		return fmt.Errorf("let %s join: the answer has %d bytes, at most %d are read", c.peer(), len(body), MaxAnswer-proofSize)
	}
	if err := c.within(ctx, proofTime); err != nil {
		return err
	}
	proof := c.prove(used, headAnswers, append(said, body)...)
	if err := writeFrame(c.conn, append(proof, body...)); err != nil {
		return because(ctx, fmt.Errorf("answer %s: %w", c.peer(), err))
	}
	return errors.Join(reason, c.conn.SetDeadline(time.Time{}))
}

// hear is what comes before the proof of the joiner. It returns what both have said and the
// token that the joiner has.
func (c Channel) hear(tokens []Token) (said [][]byte, used Token, ask Ask, err error) {
	fail := func(err error) ([][]byte, Token, Ask, error) { return nil, Token{}, Ask{}, err }
	theirs, err := readFrame(c.conn, MaxFrame)
	if err != nil {
		return fail(fmt.Errorf("%w: hello of %s: %w", ErrNotProved, c.peer(), err))
	}
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce)
	ours := hello(nonce)
	_, rest, err := readHello(theirs, c.peer())
	if err == nil {
		err = nothing(rest)
	}
	var other *VersionError
	if errors.As(err, &other) {
		_ = writeFrame(c.conn, ours) // so that it can say the same to its user
	}
	if err != nil {
		return fail(fmt.Errorf("%w: %w", ErrNotProved, err))
	}
	proofs := []byte{byte(len(tokens))}
	for _, t := range tokens {
		proofs = append(proofs, c.prove(t, headKnows, theirs, ours)...)
	}
	ours = append(ours, proofs...)
	if err := writeFrame(c.conn, ours); err != nil {
		return fail(fmt.Errorf("%w: hello to %s: %w", ErrNotProved, c.peer(), err))
	}
	asked, err := readFrame(c.conn, MaxFrame)
	if errors.Is(err, io.EOF) {
		return fail(fmt.Errorf("%w: %s left when it had seen that the head knows the %v: it probably has another token", ErrNotProved, c.peer(), tokens[0]))
	}
	if err != nil {
		return fail(fmt.Errorf("%w: request of %s: %w", ErrNotProved, c.peer(), err))
	}
	if len(asked) < proofSize {
		return fail(fmt.Errorf("%w: request of %s: %w: no proof", ErrNotProved, c.peer(), ErrMalformed))
	}
	proof, body := asked[:proofSize], asked[proofSize:]
	for _, t := range tokens {
		if hmac.Equal(proof, c.prove(t, joinerKnows, theirs, ours, body)) {
			ask, err := parseAsk(body)
			if err != nil {
				return fail(fmt.Errorf("request of %s: %w", c.peer(), err))
			}
			ask.Proved = t
			return [][]byte{theirs, ours, bytes.Clone(asked)}, t, ask, nil
		}
	}
	return fail(fmt.Errorf("%w: %w: %s does not know the %v", ErrNotProved, ErrWrongToken, c.peer(), tokens[0]))
}

package pki

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"
)

// JoinClient speaks with a head, as the process that joins, and returns the head's answer.
// ErrWrongToken means that the head did not prove that it knows the token: then nothing was
// said to it about this process. A *RefusedError has the reason of a head that did. The
// connection stays open.
func JoinClient(ctx context.Context, c Channel, t Token, ask Ask) (Answer, error) {
	body := ask.encode()
	if len(body) > MaxFrame-proofSize {
		return Answer{}, fmt.Errorf("join the cluster: the request has %d bytes, at most %d are read", len(body), MaxFrame-proofSize)
	}
	if t.missing() {
		return Answer{}, errors.New("join the cluster: there is no token")
	}
	defer c.watch(ctx)()
	a, err := c.join(ctx, t, body)
	return a, because(ctx, err)
}

// join is JoinClient without the rules of its arguments.
func (c Channel) join(ctx context.Context, t Token, body []byte) (Answer, error) {
	if err := c.within(ctx, proofTime); err != nil {
		return Answer{}, err
	}
	ours, theirs, err := c.greet(t)
	if err != nil {
		return Answer{}, err
	}
	asked := append(c.prove(t, joinerKnows, ours, theirs, body), body...)
	if err := writeFrame(c.conn, asked); err != nil {
		return Answer{}, fmt.Errorf("ask %s to let this process in: %w", c.peer(), err)
	}
	if err := c.within(ctx, answerTime); err != nil {
		return Answer{}, err
	}
	answer, err := readFrame(c.conn, MaxAnswer)
	if err != nil {
		return Answer{}, fmt.Errorf("answer of %s: %w", c.peer(), noEOF(err))
	}
	if len(answer) < proofSize {
		return Answer{}, fmt.Errorf("answer of %s: %w: no proof", c.peer(), ErrMalformed)
	}
	proof, rest := answer[:proofSize], answer[proofSize:]
	if !hmac.Equal(proof, c.prove(t, headAnswers, ours, theirs, asked, rest)) {
		return Answer{}, fmt.Errorf("answer of %s: %w: it was changed on the way", c.peer(), ErrMalformed)
	}
	a, err := parseAnswer(rest, c.peer())
	if err != nil {
		return Answer{}, err
	}
	return a, c.conn.SetDeadline(time.Time{})
}

// greet says hello and returns what both have said when the head has proved itself.
func (c Channel) greet(t Token) (ours, theirs []byte, err error) {
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce)
	ours = hello(nonce)
	if err := writeFrame(c.conn, ours); err != nil {
		return nil, nil, fmt.Errorf("hello to %s: %w", c.peer(), err)
	}
	theirs, err = readFrame(c.conn, MaxFrame)
	if errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s closed the connection without an answer: it is no head, or too many processes join at once", c.peer())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("hello of %s: %w", c.peer(), err)
	}
	_, proofs, err := readHello(theirs, c.peer())
	if err != nil {
		return nil, nil, err
	}
	count := 0
	if len(proofs) > 0 {
		count = int(proofs[0])
		proofs = proofs[1:]
	}
	if count == 0 || count > maxTokens || len(proofs) != count*proofSize {
		return nil, nil, fmt.Errorf("hello of %s: %w: %d proofs in %d bytes", c.peer(), ErrMalformed, count, len(proofs))
	}
	head := theirs[:len(magic)+1+nonceSize]
	for ; len(proofs) > 0; proofs = proofs[proofSize:] {
		if hmac.Equal(proofs[:proofSize], c.prove(t, headKnows, ours, head)) {
			return ours, theirs, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: the head at %s does not know the %v: it belongs to another cluster or has another token; use the token of that head",
		ErrWrongToken, c.peer(), t)
}

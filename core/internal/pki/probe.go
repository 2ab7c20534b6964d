package pki

import (
	"context"
	"crypto/rand"
	"fmt"
)

// Probe finds out whether a head answers at the other end. It says hello, without a token, and reads the head's hello, whose proof it cannot check.
func Probe(ctx context.Context, c Channel) error {
	defer c.watch(ctx)()
	if err := c.within(ctx, proofTime); err != nil {
		return err
	}
	nonce := make([]byte, nonceSize)
	_, _ = rand.Read(nonce)
	err := writeFrame(c.conn, hello(nonce))
	if err == nil {
		var theirs []byte
		if theirs, err = readFrame(c.conn, MaxFrame); err == nil {
			_, _, err = readHello(theirs, c.peer())
		}
	}
	if err != nil {
		return because(ctx, fmt.Errorf("hello of %s: %w", c.peer(), noEOF(err)))
	}
	return nil
}

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/resume"
)

// greeted is a connection on which the head has proved itself, and the proof.
func greeted(p port) (net.Conn, []byte, error) {
	c, err := joinTLS(p)
	if err != nil {
		return nil, nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	var head [4]byte
	if _, err = c.Write(rawHello()); err == nil {
		_, err = io.ReadFull(c, head[:])
	}
	n := binary.LittleEndian.Uint32(head[:])
	if err == nil && n > pki.MaxFrame {
		err = fmt.Errorf("a hello of %d bytes", n)
	}
	theirs := make([]byte, min(n, pki.MaxFrame))
	if err == nil {
		_, err = io.ReadFull(c, theirs)
	}
	if err != nil || len(theirs) < 32 {
		c.Close()
		return nil, nil, fmt.Errorf("hello of the head: %d bytes, %w", len(theirs), err)
	}
	return c, theirs[len(theirs)-32:], nil
}

// proofs tries to join without knowing the token.
func (a *attacker) proofs() error {
	ctx := context.Background()
	return a.each(a.headPorts(), func(p port, chance *mrand.Rand) (bool, error) {
		c, proof, err := greeted(p)
		if err != nil {
			return false, err
		}
		defer c.Close()
		name, asked := "a guessed proof", append(random(chance, 32), make([]byte, 8)...)
		switch chance.IntN(5) {
		case 0:
			name, asked = "the head's own proof", append(append([]byte(nil), proof...), make([]byte, 8)...)
		case 1:
			name, asked = "no proof", nil
		case 2:
			name, asked = "half a proof", proof[:16]
		case 3:
			name = "another token"
			c.Close()
			_, channel, err := link.DialJoin(ctx, p.address, false)
			if err != nil {
				return false, err
			}
			_, err = pki.JoinClient(ctx, channel, pki.NewToken("the attack"), pki.Ask{})
			a.count(name, 1)
			if !errors.Is(err, pki.ErrWrongToken) {
				a.breach("%s: %v", name, err)
			}
			return time.Now().Before(a.end), nil
		}
		_, _ = c.Write(rawFrame(asked))
		a.count(name, 1)
		if answer := a.closes(name, p, c); len(answer) > 0 {
			a.breach("%s: the head answers with %d bytes", name, len(answer))
		}
		return time.Now().Before(a.end), nil
	})
}

func (a *attacker) headPorts() (list []port) {
	for _, p := range a.ports {
		if p.kind == "head" {
			list = append(list, p)
		}
	}
	return list
}

// strangeFrames sends frames that are wrong, behind TLS and before a proof. One that is wrong ends a connection.
func (a *attacker) strangeFrames() error {
	return a.each(a.headPorts(), func(p port, chance *mrand.Rand) (bool, error) {
		c, err := joinTLS(p)
		if errors.Is(err, errTurnedAway) {
			a.count("turned away", 1)
			return time.Now().Before(a.end) || a.frames > 0, nil
		}
		if err != nil {
			return false, err
		}
		defer c.Close()
		sent := rawHello()
		if chance.IntN(2) == 0 {
			sent = append(sent, rawFrame(random(chance, chance.IntN(600)))...) // in the place of a proof
			a.count("frames", 1)
		} else {
			sent = mutated(sent, chance)
		}
		_, _ = c.Write(sent)
		_ = c.CloseWrite()
		a.count("frames", 1)
		a.closes("frames before a proof", p, c)
		if a.frames > 0 {
			return a.total("frames") < a.frames, nil
		}
		return time.Now().Before(a.end), nil
	})
}

// tap carries connections to a port, and keeps what the client says.
type tap struct {
	net.Listener
	mu   sync.Mutex
	said []byte
}

// newTap listens, and carries one connection to the port.
func newTap(to port) (*tap, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{Listener: l}
	go func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		defer near.Close()
		far, err := dial(to)
		if err != nil {
			return
		}
		defer far.Close()
		go func() { _, _ = io.Copy(near, far) }()
		_, _ = io.Copy(far, io.TeeReader(near, t))
	}()
	return t, nil
}

// Write keeps bytes.
func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said = append(t.said, b...)
	return len(b), nil
}

func (t *tap) recorded() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.said...)
}

// replay records a join and the beginning of a link, and sends both again, whole and in part. The number that a later node gets shows that
// no recorded join has got one.
func (a *attacker) replay() error {
	heads := a.headPorts()
	if len(heads) == 0 {
		return errors.New("-port: no head is given")
	}
	before, err := a.joined()
	if err != nil {
		return err
	}
	if err := a.learn(before); err != nil {
		return err
	}
	var records [][]byte
	joining, err := newTap(heads[0])
	if err != nil {
		return err
	}
	defer joining.Close()
	if _, err := a.client(joining.Addr().String()).Join(context.Background()); err != nil {
		return fmt.Errorf("join over the recorder: %w", err)
	}
	records = append(records, joining.recorded())
	for _, p := range a.linked() {
		linking, err := newTap(p)
		if err != nil {
			return err
		}
		defer linking.Close()
		m, err := connect(port{kind: p.kind, address: linking.Addr().String(), number: p.number, pace: p.pace}, before)
		if err != nil {
			return fmt.Errorf("a link over the recorder: %w", err)
		}
		m.write(dataFrame(1, resume.Control, []byte("recorded")))
		m.Close()
		records = append(records, linking.recorded())
	}
	times := 0
	for time.Now().Before(a.end) || times < 2 {
		times++
		for _, p := range a.ports {
			for _, record := range records {
				if _, err := a.shot("a recorded connection", p, record); err != nil {
					return err
				}
				if _, err := a.shot("a part of one", p, record[:len(record)*(1+times%5)/6]); err != nil {
					return err
				}
			}
		}
	}
	after, err := a.joined()
	if err != nil {
		return err
	}
	if got, want := after.Identity.Number, before.Identity.Number+2; got != want {
		a.breach("replay: a later node has the number %d in the place of %d, so recorded joins have got numbers", got, want)
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// talk is a node's conversation with the head that leads: a stream of its own, on which the head has welcomed the node.
type talk struct {
	*wire.Peer
	a  *attacker
	id ids.Node // the name that the node has said
}

// talkStream is the first stream that a member opens whose number is above that of the other end.
const talkStream = 2

// talk begins a conversation on a new connection with a head, as a node does.
func (a *attacker) talk(p port, m join.Membership) (*talk, error) {
	c, err := connect(p, m)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	c.write(sessionFrame(kindOpen, 1, talkStream, []byte(linkmsg.Conversation)))
	go func() { // what the peer writes becomes frames of the stream
		defer c.Close()
		b := make([]byte, resume.MaxBody)
		for number := uint64(2); ; number++ {
			n, err := far.Read(b)
			if err != nil || !c.write(dataFrame(number, talkStream, b[:n])) {
				return
			}
		}
	}()
	go func() { // and the other way round
		defer far.Close()
		for {
			f, err := readFrame(c)
			if err != nil || f.Kind == kindEnd && f.Stream == talkStream {
				return
			}
			if f.Kind == kindData && f.Stream == talkStream {
				if _, err := far.Write(f.Body); err != nil {
					c.discard()
					return
				}
			}
		}
	}()
	t := &talk{Peer: wire.NewPeer(near, func(*wire.Message) {}, nil), a: a, id: ids.NewNode()}
	t.Start()
	h := linkmsg.Hello{
		Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Node: m.Identity.Number, ID: t.id, Client: [16]byte(random(rand.New(rand.NewPCG(rand.Uint64(), 1)), 16)),
		Connection: 1, First: 1, Wire: wire.Version,
	}
	hello, err := linkmsg.Encode("a hello", &h)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = t.Call(ctx, linkmsg.THello, hello, nil)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("%w: the head's welcome: %w", errNotNow, err)
	}
	a.count("conversations with the head", 1)
	return t, nil
}

// ask makes a request, and counts an answer to it. It returns what the head refuses the request with, if it does.
func (t *talk) ask(n uint64, op linkmsg.Op, body msgpack.RawMessage) (refused, err error) {
	q, err := linkmsg.Encode("a bomb", &linkmsg.Ask{N: n, Op: op, Body: body})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var answer linkmsg.Answer
	err = t.Call(ctx, linkmsg.TAsk, q, &answer)
	if errors.Is(err, context.DeadlineExceeded) { // it waits for something that does not come
		t.a.count("requests without an answer", 1)
		return nil, nil
	}
	if err == nil {
		t.a.count("answers of the head", 1)
		refused = answer.Err.Err()
	}
	return refused, err
}

// told is a message in which reports and orders travel.
func told(n uint64, k linkmsg.Kind, body msgpack.RawMessage) msgpack.RawMessage {
	b, err := linkmsg.Encode("a bomb", &linkmsg.Told{N: n, Kind: k, Body: body})
	if err != nil {
		return linkmsg.Nothing
	}
	return b
}

// readFrame reads the next frame that the other end sends.
func readFrame(r io.Reader) (f resume.Frame, err error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return f, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n > resume.MaxFrame {
		return f, fmt.Errorf("a frame of %d bytes", n)
	}
	b := append(bytes.Clone(size[:]), make([]byte, n)...)
	if _, err := io.ReadFull(r, b[len(size):]); err != nil {
		return f, err
	}
	f, _, _, err = resume.ParseFrame(b)
	return f, err
}

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/resume"
)

// What is said first on a connection of a member: see package link, which does not export it.
const (
	greetingAccepted = 1
	greetingRefused  = 2
	greetingStale    = 3

	forLink = 1
	forBulk = 2
	forRaft = 3
)

// greeting returns a greeting for a session, with a hello whose session is a new one. peerBoot is the other side's session, if it has said it.
func greeting(from, to uint32, peerBoot uint64, dial uint32) []byte {
	h := resume.Hello{From: from, To: to, Boot: rand.Uint64() | 1, PeerBoot: peerBoot, Dial: dial, Window: resume.DefaultWindow}
	return greetingOf(forLink, to, h.Append(nil))
}

func greetingOf(kind byte, to uint32, body []byte) []byte {
	b := append([]byte("ERL"), 1, kind)
	b = binary.LittleEndian.AppendUint32(b, to)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(body))), body...)
}

// learn finds the numbers of all nodes: a greeting for another number is refused with a text that has the right one.
func (a *attacker) learn(m join.Membership) error {
	for i := range a.ports {
		p := &a.ports[i]
		if p.kind != "node" {
			continue
		}
		c, status, text, err := meet(*p, m, greetingOf(forLink, m.Identity.Number^0x4000_0000, make([]byte, resume.HelloSize)))
		if err != nil {
			return err
		}
		c.Close()
		_, said, _ := strings.Cut(text, "here is node ")
		if _, err := fmt.Sscanf(said, "%d,", &p.number); err != nil || status != greetingRefused {
			return fmt.Errorf("the node at %s answers %d %q to a greeting for another node", p.address, status, text)
		}
	}
	return nil
}

// meet dials a port with the certificate of a node, says a greeting, and returns the answer.
func meet(p port, m join.Membership, greeting []byte) (c *tls.Conn, status byte, text string, err error) {
	nc, err := dial(p)
	if err != nil {
		return nil, 0, "", err
	}
	c = tls.Client(nc, m.Keys.TLS(link.Protocol))
	_ = c.SetDeadline(time.Now().Add(patience))
	var head [3]byte
	if err = c.Handshake(); err == nil {
		if _, err = c.Write(greeting); err == nil {
			_, err = io.ReadFull(c, head[:])
		}
	}
	body := make([]byte, binary.LittleEndian.Uint16(head[1:]))
	if err == nil {
		_, err = io.ReadFull(c, body)
	}
	if err != nil {
		nc.Close()
		return nil, 0, "", fmt.Errorf("%w: a member's connection with the %s port: %w", errNotNow, p.kind, err)
	}
	return c, head[0], string(body), nil
}

// conversation is a connection of a session that the other side has accepted.
type conversation struct {
	*tls.Conn
	number uint64 // of the last frame
}

// errNotNow means that the other side has another session with this member, and says so once.
var errNotNow = errors.New("the session is not accepted now")

// discard reads what the other side says, which is not of interest.
func (c *conversation) discard() { _, _ = io.Copy(io.Discard, c) }

// connect begins a session with a port, as a member. The caller reads what the other side says: it stops when nobody does.
func connect(p port, m join.Membership) (*conversation, error) {
	var peerBoot, replaces uint64
	for range 4 {
		h := resume.Hello{From: m.Identity.Number, To: p.number, Boot: rand.Uint64() | 1, PeerBoot: peerBoot, Replaces: replaces, Dial: 1, Window: resume.DefaultWindow}
		c, status, text, err := meet(p, m, greetingOf(forLink, h.To, h.Append(nil)))
		if err != nil {
			return nil, err
		}
		switch status {
		case greetingAccepted:
			return &conversation{Conn: c}, nil
		case greetingStale:
			c.Close()
			theirs, err := resume.ParseHello([]byte(text))
			if err != nil {
				return nil, err
			}
			peerBoot, replaces = theirs.Boot, theirs.PeerBoot
		default:
			c.Close()
			return nil, fmt.Errorf("%w: %s", errNotNow, text)
		}
	}
	return nil, errNotNow
}

// fuzzed returns the next frame of a session.
func (c *conversation) fuzzed(chance *rand.Rand) []byte {
	c.number++
	switch stream := resume.StreamID(2 + 2*chance.IntN(20)); chance.IntN(10) {
	case 0: // a stream to no process, or to what may be one, or a conversation without a hello
		target := random(chance, []int{0, 1, 12, 28, 1000}[chance.IntN(5)])
		if chance.IntN(2) == 0 {
			target = []byte(linkmsg.Conversation)
		}
		return sessionFrame(kindOpen, c.number, stream, target)
	case 1:
		c.number--
		return sessionFrame(kindAck, 0, 0, nil)
	case 2:
		return dataFrame(c.number, stream, random(chance, 1+chance.IntN(300)))
	case 3:
		return sessionFrame(kindEnd, c.number, stream, []byte{byte(chance.IntN(9))})
	default:
		return dataFrame(c.number, resume.Control, message(chance))
	}
}

// write sends bytes, and reports whether the other side still takes them.
func (c *conversation) write(b []byte) bool {
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.Write(b)
	return err == nil
}

// Close ends the connection at once.
func (c *conversation) Close() error { return c.NetConn().Close() }

// perConversation is how many frames are sent on a connection before a wrong one ends it.
const perConversation = 60

// members joins once for each goroutine, because the connections of one member push each other out. The numbers of the ports are known then.
func (a *attacker) members() (list chan join.Membership, err error) {
	list = make(chan join.Membership, a.workers)
	for i := range a.workers {
		m, err := a.joined()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if err := a.learn(m); err != nil {
				return nil, err
			}
		}
		list <- m
	}
	return list, nil
}

// member sends fuzzed frames on connections that the other side takes for a node's.
func (a *attacker) member() error {
	members, err := a.members()
	if err != nil {
		return err
	}
	err = a.each(a.linked(), func(p port, chance *rand.Rand) (bool, error) {
		m := <-members
		defer func() { members <- m }()
		if chance.IntN(10) == 0 {
			if err := a.bulk(p, m, chance); err != nil && !errors.Is(err, errNotNow) {
				return false, err
			}
		}
		c, err := connect(p, m)
		if errors.Is(err, errNotNow) {
			a.count("refused sessions", 1)
			if a.total("refused sessions") > 10*(a.workers+a.total("sessions")) {
				return false, fmt.Errorf("members are let in no more: %w", err)
			}
			return a.goesOn(), nil
		}
		if err != nil {
			return false, err
		}
		defer c.Close()
		go c.discard()
		a.count("sessions", 1)
		a.converse(c, chance)
		if p.kind == "head" {
			if err := a.fuzzTalk(p, m, chance); err != nil && !errors.Is(err, errNotNow) {
				return false, err
			}
		}
		return a.goesOn(), nil
	})
	if err == nil && a.total("conversations with the head") == 0 && len(a.heads()) > 0 {
		err = errors.New("the attack has reached no conversation with the head")
	}
	return err
}

// goesOn reports whether an attack sends more frames.
func (a *attacker) goesOn() bool {
	if a.frames > 0 {
		return a.total("frames") < a.frames
	}
	return time.Now().Before(a.end)
}

// converse sends frames that follow the rules of a session, with content that follows none, and in the end frames that break the rules.
func (a *attacker) converse(c *conversation, chance *rand.Rand) {
	for range perConversation {
		if !c.write(c.fuzzed(chance)) {
			return
		}
		a.count("frames", 1)
	}
	last := mutated(dataFrame(c.number+1, resume.Control, message(chance)), chance)
	if chance.IntN(3) == 0 {
		last = random(chance, chance.IntN(200))
	}
	if c.write(last) {
		a.count("frames", 1)
	}
}

// fuzzTalk sends messages with any content on a conversation with the head, behind a right hello.
func (a *attacker) fuzzTalk(p port, m join.Membership, chance *rand.Rand) error {
	t, err := a.talk(p, m)
	if err != nil {
		return err
	}
	defer t.Close()
	reports := uint64(0)
	for n := uint64(1); n <= perConversation/4 && t.Err() == nil; n++ {
		body, err := msgpack.Marshal(anything(chance, 0))
		if err != nil {
			continue
		}
		a.count("frames", 1)
		switch chance.IntN(4) {
		case 0:
			_ = t.Push(kinds[chance.IntN(len(kinds))], msgpack.RawMessage(body))
		case 1:
			reports++
			_ = t.Push(linkmsg.TReport, told(reports, kindsOfReports[chance.IntN(len(kindsOfReports))], body))
		default: // most are answered, and the conversation goes on
			ops := slices.Sorted(maps.Keys(asked))
			if _, err := t.ask(n, ops[chance.IntN(len(ops))], body); err != nil {
				return nil // the head has closed the conversation
			}
		}
	}
	return nil
}

// bulk sends nonsense on a bulk connection: as one of its users begins, or as none does.
func (a *attacker) bulk(p port, m join.Membership, chance *rand.Rand) error {
	c, status, _, err := meet(p, m, greetingOf(forBulk, p.number, nil))
	if err != nil {
		return err
	}
	defer c.NetConn().Close()
	if status != greetingAccepted {
		a.count("refused bulk connections", 1)
		return nil
	}
	users := append(questions(p, random(chance, 64)), question{})
	begin := users[chance.IntN(len(users))].bytes
	begin = begin[:chance.IntN(len(begin)+1)]
	_, _ = c.Write(append(bytes.Clone(begin), random(chance, chance.IntN(3000))...))
	a.count("bulk connections", 1)
	return nil
}

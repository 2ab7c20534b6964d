package pki

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/tests/await"
)

// ends is what became of a conversation.
type ends struct {
	answer         Answer
	client, server error
	asked          []Ask // what decide was asked
}

// converse lets two channels speak, and closes both when one end has an error.
func converse(t testing.TB, joiner, head Channel, has Token, tokens []Token, ask Ask, decide func(Ask) (Answer, error)) (e ends) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.server = JoinServer(t.Context(), head, tokens, func(_ context.Context, ask Ask) (Answer, error) {
			e.asked = append(e.asked, ask)
			return decide(ask)
		})
		if e.server != nil {
			head.conn.Close()
		}
	}()
	e.answer, e.client = JoinClient(t.Context(), joiner, has, ask)
	if e.client != nil {
		joiner.conn.Close()
	}
	<-done
	return e
}

// pipes returns the two ends of a connection without TLS.
func pipes(t testing.TB) (joiner, head net.Conn) {
	joiner, head = net.Pipe()
	t.Cleanup(func() { joiner.Close(); head.Close() })
	return joiner, head
}

// sockets is pipes with room for what is under way in both directions: TLS needs that where
// both ends may write at once, one of them an alert.
func sockets(t testing.TB) (joiner, head net.Conn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "end")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ends[i].Close() })
	}
	return ends[0], ends[1]
}

// overTLS makes channels of the two ends.
func overTLS(t testing.TB, joiner, head net.Conn, k *Keys) (a, b Channel) {
	t.Helper()
	type end struct {
		c   Channel
		err error
	}
	far := make(chan end, 1)
	go func() {
		c, err := OverTLS(t.Context(), tls.Server(head, k.TLS("link", JoinProtocol)))
		far <- end{c, err}
	}()
	a, err := OverTLS(t.Context(), tls.Client(joiner, JoinTLS()))
	e := <-far
	if err != nil || e.err != nil {
		t.Fatal(err, e.err)
	}
	return a, e.c
}

func welcome(Ask) (Answer, error) { return Answer{Body: []byte("welcome")}, nil }

func TestJoin_SameToken_CertificateLetsItSpeakWithMembers(t *testing.T) {
	a := newAuthority(t, Cluster{4})
	head := member(t, a, RoleHead, 1)
	x, y := sockets(t)
	joiner, server := overTLS(t, x, y, head)
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	id := Identity{Cluster: Cluster{4}, Role: RoleNode, Number: 8}
	e := converse(t, joiner, server, fixed(1), []Token{fixed(1)}, Ask{Request: request(t, k), Body: []byte("I am new")}, func(ask Ask) (Answer, error) {
		cert, err := a.Sign(ask.Request, id, time.Now())
		return Answer{Cert: cert, Authorities: [][]byte{a.Certificate(), a.Certificate()}, Body: append([]byte("to: "), ask.Body...)}, err
	})
	if e.client != nil || e.server != nil || string(e.answer.Body) != "to: I am new" || len(e.asked) != 1 || len(e.answer.Authorities) != 2 {
		t.Fatalf("%+v", e)
	}
	if got, err := k.Install(e.answer.Cert, e.answer.Authorities); err != nil || got != id {
		t.Fatalf("%v, %v", got, err)
	}
	x, y = sockets(t)
	seen, err := meet(t, x, y, k.TLS("link"), head.TLS("link", JoinProtocol))
	if err != nil || seen != [2]uint32{1, 8} {
		t.Errorf("the two see %v, %v", seen, err)
	}
}

func TestJoin_Plain_BothProveTheToken(t *testing.T) {
	x, y := pipes(t)
	e := converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{Body: []byte("a")}, welcome)
	if e.client != nil || e.server != nil || string(e.answer.Body) != "welcome" {
		t.Fatalf("%+v", e)
	}
	// The connection goes on, without a deadline and without a byte too many read.
	go func() { _, _ = y.Write([]byte("next")) }()
	b := make([]byte, 4)
	if _, err := io.ReadFull(x, b); err != nil || string(b) != "next" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestJoin_HeadHasSeveralTokens_EachIsGood(t *testing.T) {
	for _, has := range []Token{fixed(1), fixed(2)} {
		x, y := pipes(t)
		if e := converse(t, Plain(x), Plain(y), has, []Token{fixed(1), fixed(2)}, Ask{}, welcome); e.client != nil || e.server != nil {
			t.Errorf("%v: %+v", has, e)
		}
	}
	for name, tokens := range map[string][]Token{"none": nil, "five": make([]Token, 5), "an empty one": {fixed(1), {}}} {
		x, y := pipes(t)
		if err := JoinServer(t.Context(), Plain(y), tokens, nil); err == nil {
			t.Errorf("a head with %s serves", name)
		}
		if _, err := JoinClient(t.Context(), Plain(x), Token{}, Ask{}); err == nil {
			t.Error("a process without a token joins")
		}
	}
}

func TestJoin_WrongToken_BothSayWhichAndNothingWasTold(t *testing.T) {
	x, y := pipes(t)
	sent := &recorder{Conn: x}
	e := converse(t, Plain(sent), Plain(y), fixed(2), []Token{fixed(1)}, Ask{Body: []byte("who I am")}, welcome)
	if !errors.Is(e.client, ErrWrongToken) || !strings.Contains(e.client.Error(), "file 2") {
		t.Errorf("the joiner says %v", e.client)
	}
	if !errors.Is(e.server, ErrNotProved) || !strings.Contains(e.server.Error(), "file 1") {
		t.Errorf("the head says %v", e.server)
	}
	if len(e.asked) != 0 || bytes.Contains(sent.wrote, []byte("who I am")) {
		t.Error("the joiner has told a head without the token who it is")
	}
}

// A joiner that does not care whether the head knows the token.
func TestJoinServer_ProofWithAnotherToken_IsRefused(t *testing.T) {
	for name, forge := range map[string]func(c Channel, ours, theirs, body []byte) []byte{
		"another token":        func(c Channel, o, s, b []byte) []byte { return c.prove(fixed(2), joinerKnows, o, s, b) },
		"for another request":  func(c Channel, o, s, b []byte) []byte { return c.prove(fixed(1), joinerKnows, o, s, b[1:]) },
		"the head's own, back": func(_ Channel, _, s, _ []byte) []byte { return s[len(s)-proofSize:] },
		"with another label":   func(c Channel, o, s, b []byte) []byte { return c.prove(fixed(1), headKnows, o, s, b) },
		"of another channel": func(_ Channel, o, s, b []byte) []byte {
			return Channel{binding: []byte("tls ")}.prove(fixed(1), joinerKnows, o, s, b)
		},
		"for another hello": func(c Channel, o, s, b []byte) []byte {
			return c.prove(fixed(1), joinerKnows, hello(make([]byte, nonceSize)), s, b)
		},
		"parts cut differently": func(c Channel, o, s, b []byte) []byte {
			return c.prove(fixed(1), joinerKnows, append(bytes.Clone(o), s[0]), s[1:], b)
		},
		"nothing":                func(Channel, []byte, []byte, []byte) []byte { return make([]byte, proofSize) },
		"shorter than any proof": func(Channel, []byte, []byte, []byte) []byte { return nil },
	} {
		x, y := pipes(t)
		done := make(chan error, 1)
		go func() {
			done <- JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, func(context.Context, Ask) (Answer, error) {
				t.Errorf("%s: let in", name)
				return Answer{}, nil
			})
		}()
		ours := hello(bytes.Repeat([]byte{7}, nonceSize))
		if err := writeFrame(x, ours); err != nil {
			t.Fatal(err)
		}
		theirs, err := readFrame(x, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		body := Ask{Body: []byte("b")}.encode()
		if name == "shorter than any proof" {
			body = nil
		}
		if err := writeFrame(x, append(forge(Plain(x), ours, theirs, body), body...)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, ErrNotProved) || !strings.Contains(err.Error(), "pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJoinServer_ProofReplayed_IsRefused(t *testing.T) {
	x, y := pipes(t)
	sent := &recorder{Conn: x}
	if e := converse(t, Plain(sent), Plain(y), fixed(1), []Token{fixed(1)}, Ask{}, welcome); e.client != nil {
		t.Fatal(e.client)
	}
	x, y = pipes(t)
	go func() { _, _ = io.Copy(io.Discard, x) }()
	go func() { _, _ = x.Write(sent.wrote) }() // all that the honest joiner has said
	err := JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, func(context.Context, Ask) (Answer, error) {
		t.Error("let in by what another has said")
		return Answer{}, nil
	})
	if !errors.Is(err, ErrWrongToken) {
		t.Errorf("%v", err)
	}
}

func TestJoinClient_HeadReplayed_IsNoHead(t *testing.T) {
	x, y := pipes(t)
	sent := &recorder{Conn: y}
	if e := converse(t, Plain(x), Plain(sent), fixed(1), []Token{fixed(1)}, Ask{}, welcome); e.client != nil {
		t.Fatal(e.client)
	}
	x, y = pipes(t)
	go func() { _, _ = io.Copy(io.Discard, y) }()
	go func() { _, _ = y.Write(sent.wrote) }()
	if _, err := JoinClient(t.Context(), Plain(x), fixed(1), Ask{}); !errors.Is(err, ErrWrongToken) {
		t.Errorf("%v", err)
	}
}

// Somebody in the middle has a TLS session with each of the two, and passes on what they say.
func TestJoin_SomebodyInTheMiddle_NeitherSideBelievesHim(t *testing.T) {
	head, middle := member(t, newAuthority(t, Cluster{4}), RoleHead, 1), member(t, newAuthority(t, Cluster{5}), RoleHead, 1)
	x, near := sockets(t)
	far, y := sockets(t)
	joiner, in := overTLS(t, x, near, middle)
	out, server := overTLS(t, far, y, head)
	go func() { _, _ = io.Copy(out.conn, in.conn); out.conn.Close() }()
	go func() { _, _ = io.Copy(in.conn, out.conn); in.conn.Close() }()
	e := converse(t, joiner, server, fixed(1), []Token{fixed(1)}, Ask{}, welcome)
	if !errors.Is(e.client, ErrWrongToken) || !errors.Is(e.server, ErrNotProved) || len(e.asked) != 0 {
		t.Errorf("%+v", e)
	}
}

// He changes a byte on a channel without TLS.
func TestJoin_ByteChangedOnTheWay_EndsIt(t *testing.T) {
	// What each side says when nothing is changed.
	lengths := [2]int{}
	for i := range lengths {
		x, y := pipes(t)
		end := &recorder{Conn: []net.Conn{x, y}[i]}
		pair := []net.Conn{x, y}
		pair[i] = end
		if e := converse(t, Plain(pair[0]), Plain(pair[1]), fixed(1), []Token{fixed(1)}, Ask{Body: []byte("a")}, welcome); e.client != nil {
			t.Fatal(e.client)
		}
		lengths[i] = len(end.wrote)
	}
	for side, length := range lengths {
		for at := range length {
			synctest.Test(t, func(t *testing.T) { // a length that was changed makes the other side wait
				x, y := net.Pipe()
				pair := []net.Conn{x, y}
				pair[side] = &flipper{Conn: pair[side], at: at}
				e := converse(t, Plain(pair[0]), Plain(pair[1]), fixed(1), []Token{fixed(1)}, Ask{Body: []byte("a")}, welcome)
				if e.client == nil || side == 0 && (e.server == nil || len(e.asked) != 0) {
					t.Errorf("byte %d of side %d: %+v", at, side, e)
				}
			})
		}
	}
}

func TestJoin_CutAtEachByte_BothEndsSaySo(t *testing.T) {
	for side := range 2 {
		for at := 0; ; at++ {
			x, y := pipes(t)
			pair := []net.Conn{x, y}
			cutting := &cutter{Conn: pair[side], left: at}
			pair[side] = cutting
			e := converse(t, Plain(pair[0]), Plain(pair[1]), fixed(1), []Token{fixed(1)}, Ask{Body: []byte("a")}, welcome)
			if !cutting.cut {
				if e.client != nil || e.server != nil || at < 50 {
					t.Fatalf("side %d was not cut at %d: %+v", side, at, e)
				}
				break
			}
			if e.client == nil || e.server == nil || side == 0 && len(e.asked) != 0 {
				t.Fatalf("side %d cut at %d: %+v", side, at, e)
			}
		}
	}
}

func TestJoin_SilentOrSlow_EndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		go func() { // one byte a second is no way to stay
			for _, b := range append(binary.LittleEndian.AppendUint32(nil, 37), hello(make([]byte, nonceSize))...) {
				if _, err := x.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		began := time.Now()
		err := JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, nil)
		if took := time.Since(began); !errors.Is(err, ErrNotProved) || took != proofTime {
			t.Errorf("the head waited for %v: %v", took, err)
		}
		y.Close()
		time.Sleep(2 * time.Second) // the slow one notices at its next byte
		joiner, silent := net.Pipe()
		defer silent.Close()
		go func() { _, _ = io.Copy(io.Discard, silent) }()
		began = time.Now()
		_, err = JoinClient(t.Context(), Plain(joiner), fixed(1), Ask{})
		if took := time.Since(began); err == nil || took != proofTime {
			t.Errorf("the joiner waited for %v: %v", took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a cluster that cannot decide
		x, y := net.Pipe()
		go func() {
			_ = JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, func(ctx context.Context, _ Ask) (Answer, error) {
				<-ctx.Done()
				return Answer{}, errors.New("no leader")
			})
		}()
		began := time.Now()
		_, err := JoinClient(t.Context(), Plain(x), fixed(1), Ask{})
		var no *RefusedError
		if took := time.Since(began); !errors.As(err, &no) || no.Reason != "no leader" || took != decideTime {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

func TestJoin_ContextEnds_EndsTheConversation(t *testing.T) {
	why := errors.New("the user has gone")
	synctest.Test(t, func(t *testing.T) {
		for name, speak := range map[string]func(ctx context.Context, c Channel) error{
			"head":   func(ctx context.Context, c Channel) error { return JoinServer(ctx, c, []Token{fixed(1)}, nil) },
			"joiner": func(ctx context.Context, c Channel) error { _, err := JoinClient(ctx, c, fixed(1), Ask{}); return err },
		} {
			for _, before := range []bool{true, false} {
				x, y := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, y) }()
				ctx, cancel := context.WithCancelCause(t.Context())
				if before {
					cancel(why)
				} else {
					time.AfterFunc(time.Second, func() { cancel(why) })
				}
				began := time.Now()
				if err := speak(ctx, Plain(x)); !errors.Is(err, why) || time.Since(began) > time.Second {
					t.Errorf("%s: %v after %v", name, err, time.Since(began))
				}
				x.Close()
				y.Close()
				cancel(nil)
			}
		}
	})
}

func TestJoin_Refused_SaysWhy(t *testing.T) {
	reason := errors.New("this machine was declared dead")
	x, y := pipes(t)
	e := converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{}, func(Ask) (Answer, error) { return Answer{}, reason })
	var no *RefusedError
	if !errors.As(e.client, &no) || no.Reason != reason.Error() || !strings.Contains(e.client.Error(), reason.Error()) || !errors.Is(e.server, reason) {
		t.Errorf("%+v", e)
	}
	x, y = pipes(t)
	e = converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{}, func(Ask) (Answer, error) {
		return Answer{}, errors.New(strings.Repeat("x", 1<<20))
	})
	if !errors.As(e.client, &no) || len(no.Reason) != maxReason {
		t.Errorf("a long reason: %v", len(no.Reason))
	}
}

func TestJoin_OtherVersion_BothNameTheVersions(t *testing.T) {
	next := hello(make([]byte, nonceSize))
	next[len(magic)] = joinVersion + 1
	var other *VersionError
	x, y := pipes(t)
	done := make(chan error, 1)
	go func() { done <- JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, nil) }()
	if err := writeFrame(x, append(next, "what comes later"...)); err != nil {
		t.Fatal(err)
	}
	theirs, err := readFrame(x, MaxFrame)
	if err != nil || string(theirs[:len(magic)+1]) != magic+string(rune(joinVersion)) {
		t.Errorf("the head answers %q, %v", theirs, err)
	}
	if err := <-done; !errors.As(err, &other) || other.Theirs != joinVersion+1 || other.Ours != joinVersion {
		t.Errorf("the head says %v", err)
	}
	x, y = pipes(t)
	go func() {
		_, _ = readFrame(y, MaxFrame)
		_ = writeFrame(y, next)
	}()
	if _, err := JoinClient(t.Context(), Plain(x), fixed(1), Ask{}); !errors.As(err, &other) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("the joiner says %v", err)
	}
}

func TestJoin_MoreThanIsRead_IsRefusedWhereItIsMade(t *testing.T) {
	x, y := pipes(t)
	if _, err := JoinClient(t.Context(), Plain(x), fixed(1), Ask{Body: make([]byte, MaxFrame)}); err == nil || !strings.Contains(err.Error(), "4064") {
		t.Errorf("a large request: %v", err)
	}
	e := converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{}, func(Ask) (Answer, error) { return Answer{Body: make([]byte, MaxAnswer)}, nil })
	if e.client == nil || e.server == nil {
		t.Errorf("a large answer: %+v", e)
	}
	x, y = pipes(t)
	e = converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{}, func(Ask) (Answer, error) { return Answer{Authorities: make([][]byte, maxAuthorities+1)}, nil })
	if e.client == nil || e.server == nil {
		t.Errorf("many authorities: %+v", e)
	}
	// The largest of each kind.
	body := make([]byte, MaxFrame-proofSize-8)
	x, y = pipes(t)
	e = converse(t, Plain(x), Plain(y), fixed(1), []Token{fixed(1)}, Ask{Body: body}, func(Ask) (Answer, error) {
		return Answer{Body: make([]byte, MaxAnswer-proofSize-10)}, nil
	})
	if e.client != nil || e.server != nil || len(e.answer.Body) != MaxAnswer-proofSize-10 {
		t.Errorf("the largest: %v, %v", e.client, e.server)
	}
	x, y = pipes(t)
	go func() { _, _ = x.Write([]byte{1, 16, 0, 0}) }() // 4097 bytes are announced
	if err := JoinServer(t.Context(), Plain(y), []Token{fixed(1)}, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("a frame of 4097 bytes: %v", err)
	}
}

// FuzzJoinServer says anything to a head: nobody is let in who does not know the token.
func FuzzJoinServer(f *testing.F) {
	first := hello(make([]byte, nonceSize))
	f.Add(append(binary.LittleEndian.AppendUint32(nil, uint32(len(first))), first...))
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255})
	f.Add(append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(first))), first...), 40, 0, 0, 0, 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, y := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, x) }()
		go func() { _, _ = x.Write(b); x.Close() }()
		err := JoinServer(t.Context(), Plain(y), []Token{fixed(1), fixed(2)}, func(context.Context, Ask) (Answer, error) {
			t.Error("let in")
			return Answer{}, nil
		})
		y.Close()
		if !errors.Is(err, ErrNotProved) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzJoinClient says anything to a process that joins: it believes nobody who does not know
// the token, and tells nothing about itself.
func FuzzJoinClient(f *testing.F) {
	first := append(hello(make([]byte, nonceSize)), 1)
	first = append(first, make([]byte, proofSize)...)
	f.Add(append(binary.LittleEndian.AppendUint32(nil, uint32(len(first))), first...))
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, y := net.Pipe()
		end := &recorder{Conn: x}
		go func() { _, _ = io.Copy(io.Discard, y) }()
		go func() { _, _ = y.Write(b); y.Close() }()
		_, err := JoinClient(t.Context(), Plain(end), fixed(1), Ask{Body: []byte("who I am")})
		x.Close()
		if err == nil || bytes.Contains(end.wrote, []byte("who I am")) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzAsk and what a head answers: anything may be an error, nothing may panic.
func FuzzAsk(f *testing.F) {
	f.Add(Ask{Request: []byte("r"), Body: []byte("b")}.encode())
	f.Add(Answer{Cert: []byte("c"), Authorities: [][]byte{{1}, {2}}, Body: []byte("b")}.encode(nil))
	f.Add(Answer{}.encode(errors.New("no")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := parseAsk(b); err == nil && !bytes.Equal(a.encode(), b) {
			t.Errorf("ask %+v of % x", a, b)
		}
		if a, err := parseAnswer(b, "x"); err == nil && !bytes.Equal(a.encode(nil), b) {
			t.Errorf("answer %+v of % x", a, b)
		}
	})
}

// BenchmarkJoin is a whole join: TLS, proofs, a certificate.
func BenchmarkJoin(b *testing.B) {
	a := newAuthority(b, Cluster{4})
	head := member(b, a, RoleHead, 1)
	for b.Loop() {
		k, err := NewKeys()
		if err != nil {
			b.Fatal(err)
		}
		x, y := sockets(b)
		joiner, server := overTLS(b, x, y, head)
		e := converse(b, joiner, server, fixed(1), []Token{fixed(1)}, Ask{Request: request(b, k)}, func(ask Ask) (Answer, error) {
			cert, err := a.Sign(ask.Request, Identity{Cluster: Cluster{4}, Role: RoleNode, Number: 8}, time.Now())
			return Answer{Cert: cert, Authorities: [][]byte{a.Certificate()}}, err
		})
		if e.client != nil || e.server != nil {
			b.Fatalf("%+v", e)
		}
		x.Close()
		y.Close()
	}
}

// recorder keeps what is written.
type recorder struct {
	net.Conn
	wrote []byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = append(r.wrote, b...)
	return r.Conn.Write(b)
}

// flipper changes one bit of one byte that is written.
type flipper struct {
	net.Conn
	at int
}

func (f *flipper) Write(b []byte) (int, error) {
	b = bytes.Clone(b)
	if f.at >= 0 && f.at < len(b) {
		b[f.at] ^= 1 << (f.at % 8)
	}
	f.at -= len(b)
	return f.Conn.Write(b)
}

// cutter ends the connection after some bytes.
type cutter struct {
	net.Conn
	left int
	cut  bool
}

func (c *cutter) Write(b []byte) (int, error) {
	if len(b) <= c.left {
		c.left -= len(b)
		return c.Conn.Write(b)
	}
	c.cut = true
	n := 0
	if c.left > 0 {
		n, _ = c.Conn.Write(b[:c.left])
	}
	c.Conn.Close()
	return n, io.ErrClosedPipe
}

// arrives returns what a channel gives, or fails the test.
func arrives[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(await.Limit):
		t.Fatalf("not within %v: %s", await.Limit, what)
	}
	return v
}

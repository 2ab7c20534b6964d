package main

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	mrand "math/rand/v2"
	"net"
)

// clientHello returns the first bytes that a TLS client sends.
func clientHello(protocols ...string) []byte {
	near, far := net.Pipe()
	defer far.Close()
	go func() {
		_ = tls.Client(near, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}).Handshake()
		near.Close()
	}()
	b := make([]byte, 4096)
	n, _ := far.Read(b)
	return b[:n]
}

// mutated returns a copy of b that is wrong at some places, or cut, or longer.
func mutated(b []byte, chance *mrand.Rand) []byte {
	b = append([]byte(nil), b...)
	for range 1 + chance.IntN(4) {
		switch at := chance.IntN(len(b) + 1); chance.IntN(5) {
		case 0:
			b = append(b[:at:at], append(random(chance, 1+chance.IntN(8)), b[at:]...)...)
		case 1:
			b = b[:at:at]
		case 2:
			b = append(b, b[at:]...)
		default:
			if at < len(b) {
				b[at] = byte(chance.Uint32())
			}
		}
	}
	return b
}

func random(chance *mrand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(chance.Uint32())
	}
	return b
}

// plain is how a connection without TLS begins.
func plain(protocol string) []byte { return append([]byte{byte(len(protocol))}, protocol...) }

// rawFrame is a frame of a join.
func rawFrame(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// rawHello is how a process begins to join.
func rawHello() []byte {
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce)
	return rawFrame(append([]byte("ERJ\x01"), nonce...))
}

// bomb returns what makes the canary if somebody unpickles it, gives it to a shell, or evaluates it as Python.
func (a *attacker) bomb(kind int) []byte {
	switch kind % 4 {
	case 0:
		return fmt.Appendf(nil, "cos\nsystem\n(S'touch %s'\ntR.", a.canary)
	case 1:
		return fmt.Appendf(nil, "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c%c%s\x85R.", len("touch "+a.canary), "touch "+a.canary)
	case 2:
		return fmt.Appendf(nil, "$(touch %s);`touch %s`\n;touch %s\n", a.canary, a.canary, a.canary)
	}
	return fmt.Appendf(nil, "__import__('os').system('touch %s')", a.canary)
}

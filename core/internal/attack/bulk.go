package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/join"
)

// question is what a user of bulk connections asks first.
type question struct {
	name    string
	bytes   []byte
	refused []byte // how an answer begins that refuses it, without the last byte, which is one of these
	says    []byte
}

// What the users of bulk connections begin with, and what they ask: see packages blobs, packages and pulls, which do not export it.
const (
	ofBlobs    = "ERBL"
	ofPackages = "ERPG"
	ofObjects  = "ErB1"
)

// questions returns each question that a port understands on a bulk connection, filled with bytes. All of them must be refused.
func questions(p port, with []byte) (list []question) {
	fill := func(n int) []byte {
		b := make([]byte, 0, n)
		for len(b) < n {
			b = append(b, with[:min(len(with), n-len(b))]...)
		}
		return b
	}
	const few = 64 // bytes of the value or the package
	switch p.kind {
	case "head":
		for ask, name := range []string{"keep a large value", "send a large value", "do what there is none of with a large value"} {
			b := append([]byte(ofBlobs), byte(ask+1))
			b = append(b, fill(32)...)
			b = binary.BigEndian.AppendUint32(b, few)
			list = append(list, question{name, append(b, fill(16)...), []byte(ofBlobs), []byte{1, 5}}) // 1 is a refusal, 5 says that it is not there
		}
		for ask, name := range []string{"keep a package", "send a package", "store a package for a head", "send a package to a head", "list packages", "do what there is none of with a package"} {
			b := append([]byte(ofPackages), byte(ask+1))
			b = append(b, fill(4)...)
			b = append(b, fill(32)...)
			list = append(list, question{name, append(binary.BigEndian.AppendUint64(b, few), fill(few)...), []byte(ofPackages), []byte{1, 5, 6}}) // 5 and 6 say: later
		}
	case "node":
		for ask, name := range []string{"send a chunk", "release an object"} {
			b := append([]byte(ofObjects), byte(ask+1), 0, 0, 0)
			b = append(b, fill(28)...)
			b = binary.LittleEndian.AppendUint64(b, 1)
			b = binary.LittleEndian.AppendUint64(b, 0)
			b = binary.LittleEndian.AppendUint32(b, few*uint32(1-ask))
			b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
			list = append(list, question{name, b, nil, []byte{2, 3, 4}}) // 2 is "not here", 3 a failure, 4 "not yet"
		}
	}
	return list
}

// armedBulk asks on bulk connections with bombs, and notes a breach if an answer is no refusal.
func (a *attacker) armedBulk(p port, m join.Membership, bomb []byte) error {
	for _, q := range questions(p, bomb) {
		c, status, _, err := meet(p, m, greetingOf(forBulk, p.number, bomb))
		if errors.Is(err, errNotNow) {
			continue
		}
		if err != nil {
			return err
		}
		if status == greetingAccepted {
			a.count("questions on bulk connections", 1)
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(q.bytes)
			b := make([]byte, len(q.refused)+1)
			if _, err := io.ReadFull(c, b); err == nil {
				a.count("answers on bulk connections", 1)
				if says := b[len(q.refused)]; !slices.Equal(b[:len(q.refused)], q.refused) || !slices.Contains(q.says, says) {
					a.breach("a member may %s: the %s port answers %q", q.name, p.kind, b)
				}
			}
		}
		c.NetConn().Close()
	}
	return nil
}

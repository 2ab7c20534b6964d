package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The kinds of frames of a session: see package resume, which does not export them.
const (
	kindAck = iota + 1
	kindOpen
	kindData
	kindGrant
	kindEnd
)

func sessionFrame(kind byte, number uint64, stream resume.StreamID, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(17+len(body)))
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint64(b, number)
	return append(binary.LittleEndian.AppendUint64(b, uint64(stream)), body...)
}

func dataFrame(number uint64, stream resume.StreamID, body []byte) []byte {
	return sessionFrame(kindData, number, stream, body)
}

// kinds are the messages between members.
var kinds = []wire.Type{
	linkmsg.THello, linkmsg.TAsk, linkmsg.TDrop, linkmsg.TReport, linkmsg.TReported, linkmsg.TOrder, linkmsg.TOrderTaken, linkmsg.TNews,
	linkmsg.TStock, linkmsg.TWant, linkmsg.TOffer, linkmsg.TSettled, linkmsg.TInfeasible, linkmsg.TBeat, linkmsg.TCounted,
	linkmsg.TObjectNews, linkmsg.TObjectAsk, linkmsg.TOutput, linkmsg.TOutputEnd, linkmsg.TJobAsk, linkmsg.TActorEnd, linkmsg.TCensus, linkmsg.TUse,
}

// message returns a control message whose body is anything.
func message(chance *rand.Rand) []byte {
	t := kinds[chance.IntN(len(kinds))]
	if chance.IntN(20) == 0 {
		t = wire.Type(chance.IntN(256))
	}
	b, err := wire.AppendMessage(nil, wire.Kind(1+chance.IntN(4)), t, uint64(chance.IntN(5)), chance.Uint32N(2000), anything(chance, 0))
	if err != nil {
		return random(chance, 20)
	}
	return b
}

// names are fields of messages.
var names = []string{
	"n", "version", "min", "node", "id", "client", "reports", "conn", "boot", "orders", "op", "body", "kind", "again", "inst", "cause", "msg", "ticket",
	"actor", "list", "what", "owner", "job", "key", "value", "name", "namespace", "at", "data", "count", "shape", "class", "lines", "err", "code", "text",
}

// anything returns a value with the names that messages have.
func anything(chance *rand.Rand, depth int) any {
	switch n := chance.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return chance.Uint64() >> chance.IntN(64)
	case n == 2:
		return -chance.Int64N(1 << 40)
	case n == 3:
		return random(chance, []int{0, 1, 12, 16, 24, 28, 60}[chance.IntN(7)])
	case n == 4:
		return names[chance.IntN(len(names))]
	case n == 5:
		return chance.Float64()
	case n == 6 && depth < 4:
		list := make([]any, chance.IntN(5))
		for i := range list {
			list[i] = anything(chance, depth+1)
		}
		return list
	case depth < 4:
		m := map[string]any{}
		for range chance.IntN(8) {
			m[names[chance.IntN(len(names))]] = anything(chance, depth+1)
		}
		return m
	}
	return msgpack.RawMessage{0xdd, 0x0f, 0xff, 0xff, 0xff} // a list of 268 million values that are not there
}

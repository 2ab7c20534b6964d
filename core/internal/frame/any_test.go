package frame

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// This file has one description of all kinds of frames, which the other tests
// share: its writer uses the encoders as a connection's users do, and its
// reader the decoders.

// A reference is one inside a result.
type reference struct {
	ID    ids.Object
	Owner string
}

// A whole is a result with the references inside.
type whole struct {
	Result
	Inside []reference
}

// A message is one frame, decoded. Only what its kind has is set.
type message struct {
	Op       wire.Op
	Template Template
	Task     Task
	Resume   *Resume      // of the task
	Had      map[int]bool // of the task
	Reply    Reply
	Item     Item
	Results  []whole // of the reply or the item
	Seq      uint32
	Seqs     []uint32
	Lost     []int
	Number   uint64 // of taken, wakeup and forget
	Group    string
	Held     bool
	Bytes    []byte // of assign
}

// returns is how many results the test's calls have: Had is read with it.
const returns = 5

// appendTo encodes the message.
func (m *message) appendTo(b []byte) []byte {
	switch m.Op {
	case wire.OpAssign:
		return AppendAssign(b, m.Bytes)
	case wire.OpTemplate:
		return AppendTemplate(b, &m.Template)
	case wire.OpTask:
		return m.appendTask(b)
	case wire.OpTaken:
		return AppendTaken(b, m.Seq, m.Number)
	case wire.OpQuit:
		return AppendQuit(b, m.Seq)
	case wire.OpForget:
		return AppendForget(b, m.Number)
	case wire.OpWakeup:
		return AppendWakeup(b, m.Number)
	case wire.OpReply:
		return AppendReply(b, m.Reply, m.results())
	case wire.OpItem:
		return AppendItem(b, m.Item, m.results())
	case wire.OpReturned:
		b, at := BeginReturned(b, len(m.Seqs))
		for _, seq := range m.Seqs {
			b = AppendSeq(b, seq)
		}
		return End(b, at)
	case wire.OpBlocked, wire.OpUnblocked:
		return AppendBlocked(b, m.Op == wire.OpBlocked)
	case wire.OpHold:
		return AppendHold(b, m.Group, m.Held)
	case wire.OpLost:
		return AppendLost(b, m.Seq, m.Lost)
	}
	panic(fmt.Sprintf("frame: no encoder of op %d", m.Op))
}

func (m *message) appendTask(b []byte) []byte {
	place := func(b []byte, p *Place) []byte {
		if p.Envelope != nil {
			return AppendInline(b, p.Envelope)
		}
		return AppendStored(b, &p.ID, p.Size, p.Owner)
	}
	b, at := BeginTask(b, m.Task.Seq, m.Task.Template, m.Task.First, m.Task.More)
	b = AppendCount(place(b, &m.Task.Args), len(m.Task.Deps))
	for i := range m.Task.Deps {
		b = place(b, &m.Task.Deps[i])
	}
	switch {
	case m.Resume != nil:
		b = AppendResume(b, m.Resume)
	case m.Task.More:
		var had []int
		for i := range returns {
			if m.Had[i] {
				had = append(had, i)
			}
		}
		b = AppendHad(b, had)
	}
	return End(b, at)
}

func (m *message) results() (b []byte) {
	for _, x := range m.Results {
		switch x.Place {
		case wire.PlaceHad:
			b = AppendHadResult(b)
			continue
		case wire.PlaceStore:
			b = AppendStoredResult(b, x.Size)
		default:
			b = append(AppendInlineResult(b, len(x.Envelope)), x.Envelope...)
		}
		b = AppendCount(b, len(x.Inside))
		for i := range x.Inside {
			b = AppendContained(b, &x.Inside[i].ID, x.Inside[i].Owner)
		}
	}
	return b
}

// read decodes a frame without its length. A task's last element is read as a
// Resume when generator says so: only the reader's templates tell.
func read(b []byte, generator bool) (m message, err error) {
	r, op, n, err := Open(b)
	if err != nil {
		return m, err
	}
	m.Op = op
	switch m.Op {
	case wire.OpAssign:
		m.Bytes, err = ReadAssign(&r)
	case wire.OpTemplate:
		m.Template, err = ReadTemplate(&r)
	case wire.OpTask:
		if m.Task, err = ReadTask(&r, n); err != nil || !m.Task.More {
			return m, err
		}
		if generator {
			var x Resume
			x, err = ReadResume(&r)
			m.Resume = &x
		} else {
			m.Had, err = ReadHad(&r, returns)
		}
	case wire.OpTaken:
		m.Seq, m.Number, err = ReadTaken(&r)
	case wire.OpQuit:
		m.Seq, err = ReadQuit(&r)
	case wire.OpForget:
		m.Number, err = ReadForget(&r)
	case wire.OpWakeup:
		m.Number, err = ReadWakeup(&r)
	case wire.OpReply:
		if m.Reply, err = ReadReply(&r, n); err == nil {
			m.Results, err = readResults(&r, m.Reply.Results)
		}
	case wire.OpItem:
		if m.Item, err = ReadItem(&r, n); err == nil {
			m.Results, err = readResults(&r, 1)
		}
	case wire.OpReturned:
		m.Seqs, err = ReadReturned(&r)
	case wire.OpBlocked, wire.OpUnblocked:
	case wire.OpHold:
		m.Group, m.Held, err = ReadHold(&r)
	case wire.OpLost:
		m.Seq, m.Lost, err = ReadLost(&r)
	default:
		panic(fmt.Sprintf("frame: no decoder of op %d", m.Op))
	}
	return m, err
}

func readResults(r *wire.Reader, n int) (list []whole, err error) {
	for range n {
		x, err := ReadResult(r)
		if err != nil {
			return list, err
		}
		w := whole{Result: x}
		for range x.Contained {
			id, owner, err := ReadContained(r)
			if err != nil {
				return list, err
			}
			w.Inside = append(w.Inside, reference{id, owner})
		}
		list = append(list, w)
	}
	return list, nil
}

// kinds lists the kinds of frames.
func kinds() (list []wire.Op) {
	for op, f := range fields {
		if f.least > 0 {
			list = append(list, wire.Op(op))
		}
	}
	return list
}

// A die draws what random frames are made of.
type die struct{ *rand.Rand }

// number draws a number of any length on the wire.
func (d die) number() uint64 { return d.Uint64() >> d.IntN(64) }

func (d die) bytes() []byte {
	b := make([]byte, []int{0, 1, 30, 31, 32, 255, 256, 300, 65535, 65536}[d.IntN(10)*d.IntN(2)*d.IntN(2)])
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return b
}

func (d die) text() string { return string(d.bytes()) }

func (d die) id() (id ids.Object) {
	for i := range id {
		id[i] = byte(d.Uint32())
	}
	return id
}

func (d die) place() (p Place) {
	if d.IntN(2) == 0 {
		return Place{Envelope: d.bytes()}
	}
	return Place{ID: d.id(), Size: d.number(), Owner: d.text()}
}

func (d die) result() (w whole) {
	switch w.Place = uint64(d.IntN(3)); w.Place {
	case wire.PlaceHad:
		return w
	case wire.PlaceStore:
		w.Size = d.number()
	default:
		w.Envelope = d.bytes()
	}
	w.Contained = d.IntN(20) * d.IntN(2)
	for range w.Contained {
		w.Inside = append(w.Inside, reference{d.id(), d.text()})
	}
	return w
}

// message draws a frame of a kind.
func (d die) message(op wire.Op) (m message) {
	m.Op = op
	switch op {
	case wire.OpAssign:
		m.Bytes = d.bytes()
	case wire.OpTemplate:
		m.Template = Template{ID: d.number(), Kind: d.IntN(2), FID: d.bytes()[:0], Name: d.text(), Method: d.text(), Returns: d.IntN(1 << 31),
			MaxCalls: d.IntN(1000) - 1, Once: d.IntN(2) == 0, Group: d.text()}
		if d.IntN(2) == 0 {
			m.Template.FID = []byte("0123456789abcdef")
		}
		if d.IntN(2) == 0 {
			m.Template.Blob = d.bytes()
		}
		if mode := d.IntN(3); mode > 0 {
			m.Template.Flow = Flow{Mode: mode, Each: d.IntN(300), Limit: d.number(), Counted: d.IntN(2) == 0}
		}
	case wire.OpTask:
		m.Task = Task{Seq: uint32(d.number()), Template: d.number(), First: d.number(), Args: d.place(), More: d.IntN(2) == 0}
		for range d.IntN(20) {
			m.Task.Deps = append(m.Task.Deps, d.place())
		}
		d.more(&m)
	case wire.OpReply:
		n := d.IntN(20)
		m.Reply = Reply{Seq: uint32(d.number()), Flags: d.number(), Micros: d.number(), Results: n}
		if m.Reply.Flags&wire.ReplyLastItem != 0 {
			m.Reply.Item = d.number()
		}
		m.Reply.Held = d.held(m.Reply.Flags)
		for range n {
			m.Results = append(m.Results, d.result())
		}
	case wire.OpItem:
		m.Item, m.Results = Item{Seq: uint32(d.number()), Index: d.number(), Flags: d.number()}, []whole{d.result()}
		m.Item.Held = d.held(m.Item.Flags)
	case wire.OpReturned:
		for range d.IntN(300) {
			m.Seqs = append(m.Seqs, uint32(d.number()))
		}
	case wire.OpHold:
		m.Group, m.Held = d.text(), d.IntN(2) == 0
	case wire.OpLost:
		m.Seq = uint32(d.number())
		for range d.IntN(20) {
			m.Lost = append(m.Lost, d.IntN(MaxReferences+1))
		}
	case wire.OpTaken:
		m.Seq, m.Number = uint32(d.number()), d.number()
	case wire.OpQuit:
		m.Seq = uint32(d.number())
	case wire.OpForget, wire.OpWakeup:
		m.Number = d.number()
	}
	return m
}

// held draws the number under which an answer with these flags is held.
func (d die) held(flags uint64) uint64 {
	if flags&wire.ReplyHeld == 0 {
		return 0
	}
	return max(1, d.number())
}

// more draws the last element of a task.
func (d die) more(m *message) {
	switch {
	case !m.Task.More:
	case d.IntN(2) == 0:
		m.Resume = &Resume{Have: d.number(), Taken: d.number(), Quit: d.IntN(2) == 0}
		for range d.IntN(20) {
			m.Resume.Lost = append(m.Resume.Lost, d.number())
		}
		slices.Sort(m.Resume.Lost)
	default:
		for i := range returns {
			if d.IntN(2) == 0 {
				if m.Had == nil {
					m.Had = map[int]bool{}
				}
				m.Had[i] = true
			}
		}
	}
}

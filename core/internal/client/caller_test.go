package client

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// fakeCaller is a caller of a worker. The test writes its frames and reads what the worker answers.
type fakeCaller struct {
	t    *testing.T
	w    *Client
	fd   int
	self ids.Owner
	got  [][]byte // frames that came and were not looked at yet
	part []byte   // the beginning of the next one
}

// programless is a worker whose program is the test itself.
func (d *fakeDaemon) programless() *Client {
	d.t.Helper()
	w, err := Connect(Options{Socket: d.sock(), Role: wire.RoleWorker, Token: "t"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { w.Close(0) })
	return w
}

// callsInto connects a caller to a worker. Change may change what the caller says of itself.
func callsInto(t *testing.T, w *Client, role string, change func(*wire.Hello)) *fakeCaller {
	t.Helper()
	p := &fakeCaller{t: t, w: w, self: ids.NewWorkerOn(fakeNode).Owner()}
	h := wire.Hello{Version: wire.Version, Role: role, OwnerID: p.self[:], JobID: w.info.Job[:]}
	if change != nil {
		change(&h)
	}
	fd, err := w.dialer.Dial(w.Info().Addr, h, -1)
	if err != nil {
		t.Fatal(err)
	}
	p.fd = fd
	t.Cleanup(p.leave)
	return p
}

// leaves has the only caller of a worker leave, and waits until the worker has seen that nobody calls it any more.
func leaves(t *testing.T, w *Client, p *fakeCaller) {
	t.Helper()
	p.leave()
	waitFor(t, "the worker sees its caller leave", func() bool {
		pollsOnce(t, w)
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.exec.Callers()) == 0
	})
}

// leave closes the caller's connection.
func (p *fakeCaller) leave() {
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}

// send writes frames, all at once.
func (p *fakeCaller) send(frames ...[]byte) {
	p.t.Helper()
	b := slices.Concat(frames...)
	for len(b) > 0 {
		n, err := unix.Write(p.fd, b)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil {
			p.t.Fatal(err)
		}
		b = b[n:]
	}
}

// hears returns the next frame, nil when the worker has closed the connection.
func (p *fakeCaller) hears() []byte {
	p.t.Helper()
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(testLimit); len(p.got) == 0; {
		left := time.Until(end)
		if left <= 0 {
			p.t.Fatalf("the worker said nothing within %v", testLimit)
		}
		fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(left.Milliseconds())+1); n == 0 || err != nil {
			continue
		}
		n, err := unix.Read(p.fd, buf)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil
		}
		p.part = append(p.part, buf[:n]...)
		used, err := frame.Each(p.part, func(f []byte) error {
			p.got = append(p.got, slices.Clone(f))
			return nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
		p.part = p.part[used:]
	}
	f := p.got[0]
	p.got = p.got[1:]
	return f
}

// heardFrame is one frame of a worker, read.
type heardFrame struct {
	op     wire.Op
	reply  frame.Reply
	item   frame.Item
	texts  []string // of its results; "stored" for one in the store
	seqs   []uint32 // of calls that come back
	lost   []int    // arguments of the call seqs[0]
	inside int      // references in its results
}

// reads returns the next frame, read. What a worker says of its waits depends on time, so it is left out.
func (p *fakeCaller) reads() (s heardFrame) {
	p.t.Helper()
	for s = p.readsOne(); s.op == wire.OpBlocked || s.op == wire.OpUnblocked || s.op == wire.OpWakeup; {
		s = p.readsOne()
	}
	return s
}

func (p *fakeCaller) readsOne() (s heardFrame) {
	p.t.Helper()
	f := p.hears()
	if f == nil {
		p.t.Fatal("the worker has closed the connection")
	}
	r, op, n, err := frame.Open(f)
	s.op = op
	results := 0
	if err == nil {
		switch op {
		case wire.OpReply:
			s.reply, err = frame.ReadReply(&r, n)
			results = s.reply.Results
		case wire.OpItem:
			s.item, err = frame.ReadItem(&r, n)
			results = 1
		case wire.OpReturned:
			s.seqs, err = frame.ReadReturned(&r)
		case wire.OpLost:
			var seq uint32
			seq, s.lost, err = frame.ReadLost(&r)
			s.seqs = []uint32{seq}
		}
	}
	for range results {
		x, err := frame.ReadResult(&r)
		if err != nil {
			p.t.Fatal(err)
		}
		for range x.Contained {
			if _, _, err := frame.ReadContained(&r); err != nil {
				p.t.Fatal(err)
			}
			s.inside++
		}
		if x.Place != wire.PlaceInline {
			s.texts = append(s.texts, "stored")
			continue
		}
		e, err := store.Parse(x.Envelope)
		if err != nil {
			p.t.Fatal(err)
		}
		s.texts = append(s.texts, string(e.Meta))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// isReply checks that the next frame answers a call with these texts.
func (p *fakeCaller) isReply(seq uint32, flags uint64, texts ...string) {
	p.t.Helper()
	s := p.reads()
	if s.op != wire.OpReply || s.reply.Seq != seq || s.reply.Flags != flags || !slices.Equal(s.texts, texts) {
		p.t.Errorf("the worker answers %+v, want that it answers call %d with flags %d and %q", s, seq, flags, texts)
	}
}

// isItem checks that the next frame is an item of a generator.
func (p *fakeCaller) isItem(seq uint32, index uint64, text string) {
	p.t.Helper()
	s := p.reads()
	if s.op != wire.OpItem || s.item.Seq != seq || s.item.Index != index || !slices.Equal(s.texts, []string{text}) {
		p.t.Errorf("the worker says %+v, want item %d of call %d, which is %q", s, index, seq, text)
	}
}

// inlineText is a small value as it travels.
func inlineText(text string) []byte {
	return store.AppendEnvelope(nil, store.Format(FmtPickle), []byte(text))
}

// templateOf is the frame of a template with this number.
func templateOf(id uint64, change func(*frame.Template)) []byte {
	x := frame.Template{ID: id, Kind: KindTask, FID: []byte("sixteen bytes id"), Name: "f", Returns: 1, Blob: []byte("code of f")}
	if change != nil {
		change(&x)
	}
	return frame.AppendTemplate(nil, &x)
}

// callOf is the frame of a call of a template, with a text as its arguments and with references.
func callOf(seq uint32, template uint64, text string, deps ...frame.Place) []byte {
	return callWith(seq, template, frame.Place{Envelope: inlineText(text)}, nil, deps...)
}

// callWith is the frame of a call. Resume says with what a generator goes on.
func callWith(seq uint32, template uint64, args frame.Place, resume *frame.Resume, deps ...frame.Place) []byte {
	place := func(b []byte, p frame.Place) []byte {
		if p.Envelope != nil {
			return frame.AppendInline(b, p.Envelope)
		}
		return frame.AppendStored(b, &p.ID, p.Size, p.Owner)
	}
	b, at := frame.BeginTask(nil, seq, template, uint64(seq)*100, resume != nil)
	b = frame.AppendCount(place(b, args), len(deps))
	for _, p := range deps {
		b = place(b, p)
	}
	if resume != nil {
		b = frame.AppendResume(b, resume)
	}
	return frame.End(b, at)
}

// generatorOf is the frame of a generator's template.
func generatorOf(id uint64, f Flow) []byte {
	return templateOf(id, func(x *frame.Template) { x.Flow = f })
}

// takes is the program that takes its next work.
func takes(t *testing.T, w *Client) *Item {
	t.Helper()
	it, err := w.NextTask(testLimit, "")
	if err != nil || it == nil {
		t.Fatalf("the program gets %+v, %v", it, err)
	}
	return it
}

// answers is the program that answers a call with a text.
func answers(t *testing.T, w *Client, it *Item, text string) {
	t.Helper()
	if err := w.Reply(it.Token, []Value{{Fmt: FmtPickle, Meta: []byte(text)}}, 0); err != nil {
		t.Fatal(err)
	}
}

// isEmpty waits until these tables of a worker are empty.
func isEmpty(t *testing.T, w *Client, tables ...string) {
	t.Helper()
	for _, name := range tables {
		waitFor(t, "the table "+name+" is empty", func() bool { return w.Footprint(false)["n_"+name] == 0 })
	}
}

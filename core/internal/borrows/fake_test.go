package borrows

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// process is a session with a reference table and connections to played processes.
type process struct {
	t     *testing.T
	mu    sync.Mutex
	m     Messenger
	links *transport.Links
	self  ids.Owner
	table *refs.Table
	drops int             // how often the program was asked what it has let go of
	reads map[uint64]bool // the leases from whose workers it reads answers

	others map[string]wire.Handler // processes that can be reached, by their address
	busy   map[string]int          // processes that live and cannot be reached, by their address: for so many attempts
	told   []string                // what the user hears
}

// effects are those of a table whose objects nobody waits for.
type effects struct {
	refs.ValueEffects
	refs.LineageEffects
	refs.ReleaseEffects
	*Messenger
}

func (effects) ArrivalSite(site uint32) uint32        { return site }
func (effects) Wake(w *wait.Wait)                     { w.End(); w.Wake() }
func (effects) Free([][]byte)                         {}
func (effects) CopyLost(ids.Object)                   {}
func (effects) DropCopy(*refs.Object) bool            { return false }
func (effects) Needed()                               {}
func (effects) Unseen(*refs.Object)                   {}
func (effects) Reply(q *wire.Message, _ *refs.Object) { _ = q.Reply(nil) }

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, self: ids.NewWorkerOn(1).Owner(), others: map[string]wire.Handler{}, busy: map[string]int{}}
	p.links = transport.NewLinks(&p.mu, &p.m, p, func() wire.Hello { return wire.Hello{} }, nil)
	p.m.Init(&p.mu, p, p.links, transport.NewServed(&p.mu, nil, nil))
	p.table = refs.NewTable(p.self, ids.JobOf(1), "/own.sock", effects{Messenger: &p.m})
	p.m.Join(p.table)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.links.Close()
	})
	return p
}

func (p *process) TakeDrops() { p.drops++ }

func (p *process) ReadsAnswers(actor bool, number uint64) bool { return !actor && p.reads[number] }

func (p *process) Say(text string) { p.told = append(p.told, text) }

func (p *process) Await(w *wait.Wait, deadline time.Time) {
	p.mu.Unlock()
	defer p.mu.Lock()
	w.Sleep(time.Until(deadline))
}

func (p *process) Dial(string, wire.Hello, int) (int, error) {
	return -1, errors.New("no task sockets here")
}

func (p *process) DialControl(addr string, _ wire.Hello, handle wire.Handler, closed func(error)) (*wire.Peer, error) {
	hear, err := p.reaches(addr)
	if err != nil {
		return nil, err
	}
	if hear == nil {
		return nil, unix.ECONNREFUSED
	}
	here, there := net.Pipe()
	other := wire.NewPeer(there, hear, nil)
	other.Start()
	p.t.Cleanup(func() { other.Close() })
	return wire.NewPeer(here, handle, closed), nil
}

// reaches returns the process at an address, nil if it has ended.
func (p *process) reaches(addr string) (wire.Handler, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[addr] > 0 {
		p.busy[addr]--
		return nil, unix.EMFILE
	}
	return p.others[addr], nil
}

// borrowed is a reference of the process at an address, which holds nothing yet.
func (p *process) borrowed(n uint64, addr string) *refs.Object {
	o := p.table.Borrow(ids.NewObject(n, ids.Owner{9}, ids.JobOf(1), 1), addr)
	p.table.PinHere(o)
	return o
}

// asks has a message come from a process, and returns what that hears.
func (p *process) asks(who ids.Owner, t wire.Type, body any) (reply *wire.Message, err error) {
	p.t.Helper()
	here, there := net.Pipe()
	us := wire.NewPeer(there, func(m *wire.Message) {
		if err := p.m.Hear(who, m); err != nil {
			_ = m.Fail(err)
		}
	}, nil)
	them := wire.NewPeer(here, func(*wire.Message) {}, nil)
	us.Start()
	them.Start()
	defer us.Close()
	defer them.Close()
	done := make(chan struct{})
	them.Go(t, body, func(m *wire.Message, e error) { reply, err = m, e; close(done) })
	<-done
	return reply, err
}

package headgroup

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// stuckDisk is this machine's disk, on which a write can be kept waiting.
type stuckDisk struct {
	raftlog.Disk
	mu   sync.Mutex
	wait chan struct{} // nil: the disk answers
	held chan struct{} // gets something when a write has begun to wait
}

type stuckFile struct {
	raftlog.File
	d *stuckDisk
}

func (d *stuckDisk) Create(path string, size int, head []byte) (raftlog.File, error) {
	f, err := d.Disk.Create(path, size, head)
	return stuckFile{f, d}, err
}

func (d *stuckDisk) Open(path string, create bool) (raftlog.File, error) {
	f, err := d.Disk.Open(path, create)
	return stuckFile{f, d}, err
}

func (d *stuckDisk) now() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wait
}

// stick keeps all writes waiting until the function that it returns is called.
func (d *stuckDisk) stick() (loosen func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wait = make(chan struct{})
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		close(d.wait)
		d.wait = nil
	})
}

func (f stuckFile) Sync() error {
	if wait := f.d.now(); wait != nil {
		select {
		case f.d.held <- struct{}{}:
		default:
		}
		<-wait
	}
	return f.File.Sync()
}

// seat is a head of a test: a group, and the state on a disk.
type seat struct {
	group *Group
	state *raftstate.Node
	disk  *stuckDisk

	mu        sync.Mutex
	parted    bool
	ended     bool
	open      []net.Conn
	connected []uint32 // the heads to which it has a connection of control
}

// control is Options.Control. Nothing is sent on the connections.
func (s *seat) control(number uint32) (*wire.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.connected, number) {
		return nil, net.ErrClosed
	}
	return nil, nil
}

// end is the end of a head's process, for the others.
func (s *seat) end() {
	s.part()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// refused is what a machine says on which nobody listens any more.
func (s *seat) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return unix.ECONNREFUSED
	}
	return net.ErrClosed
}

// part cuts a head off from the others.
func (s *seat) part() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		c.Close()
	}
	s.parted, s.open = true, nil
}

// join ends what part began.
func (s *seat) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parted = false
}

// takes is one end of a connection with another head.
func (s *seat) takes(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.parted {
		s.open = append(s.open, c)
	}
	return !s.parted
}

// noForward is for heads that are asked only when they lead.
type noForward struct{}

func (noForward) Forward(context.Context, string, string, []byte) ([]byte, error) {
	return nil, raftstate.ErrNotLeader
}

// threeSeats starts three heads, whose connections are pipes of this process.
func threeSeats(t *testing.T) map[string]*seat {
	t.Helper()
	return threeSeatsWith(t, raftstate.DefaultTiming)
}

func threeSeatsWith(t *testing.T, timing raftstate.Timing) map[string]*seat {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	var at []linkmsg.HeadAt
	var voters []raftstate.Voter
	var dirs []*raftlog.Dir
	var disks []*stuckDisk
	for i := range 3 {
		disk := &stuckDisk{Disk: raftlog.ThisMachine, held: make(chan struct{}, 1)}
		d, err := raftlog.Open(t.TempDir(), raftlog.Options{Log: log, Disk: disk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		dirs, disks = append(dirs, d), append(disks, disk)
		at = append(at, linkmsg.HeadAt{ID: d.ID(), Number: uint32(i + 1), Addresses: []string{"127.0.0.1:1"}})
		voters = append(voters, raftstate.Voter{ID: d.ID(), Address: d.ID()})
	}
	seats := map[string]*seat{}
	numbered := map[uint32]*seat{}
	for i, d := range dirs {
		self := uint32(i + 1)
		here := &seat{disk: disks[i]}
		g := New(Options{ID: d.ID(), Number: self, Book: NewBook(t.TempDir(), &File{Heads: at}, log), Log: log, Stalled: d.Stalled,
			Control: here.control,
			Dial: func(_ context.Context, number uint32) (net.Conn, error) {
				a, b := net.Pipe()
				there := numbered[number]
				if !here.takes(a) || !there.takes(b) {
					a.Close()
					return nil, there.refused()
				}
				go there.group.Serve(self, b)
				return a, nil
			}})
		here.group = g
		numbered[self], seats[d.ID()] = here, here
	}
	for i, d := range dirs {
		s := seats[d.ID()]
		state, err := raftstate.Open(raftstate.Options{ID: d.ID(), Voters: voters, Transport: s.group.Transport(), Forwarder: noForward{}, Stores: d.Stores(), Timing: timing})
		if err != nil {
			t.Fatal(err)
		}
		s.state = state
		s.group.state = state // Begin would look for settings of heads, and there are none
		t.Cleanup(func() {
			if err := state.Close(); err != nil {
				t.Error(i, err)
			}
			s.group.Close()
		})
	}
	return seats
}

// followers returns the other heads, in the order of their ids.
func followers(seats map[string]*seat, leader *seat) (others []*seat) {
	for _, id := range slices.Sorted(maps.Keys(seats)) {
		if s := seats[id]; s != leader {
			others = append(others, s)
		}
	}
	return others
}

// reign waits until a head other than that one leads.
func reign(t *testing.T, seats map[string]*seat, but string) *raftstate.Reign {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	found := make(chan *raftstate.Reign, len(seats))
	for id, s := range seats {
		if id != but {
			go func() {
				if r, err := s.state.Lead(ctx); err == nil {
					found <- r
				}
			}()
		}
	}
	select {
	case r := <-found:
		return r
	case <-ctx.Done():
		t.Fatal("no other head leads")
		return nil
	}
}

func TestGroup_LeadersDiskDoesNotAnswer_AnotherLeadsUntilItFollows(t *testing.T) {
	seats := threeSeats(t)
	first := reign(t, seats, "")
	old := seats[first.Member().Self()]
	if _, err := first.PutKV(t.Context(), "a", "before", []byte("1"), true); err != nil {
		t.Fatal(err)
	}
	loosen := old.disk.stick()
	defer loosen()
	stuck := make(chan error, 1)
	go func() {
		_, err := first.PutKV(t.Context(), "a", "stuck", []byte("1"), true)
		stuck <- err
	}()
	<-old.disk.held
	old.group.Serves(first.Term())
	begun := time.Now()
	second := reign(t, seats, old.state.Self())
	if took := time.Since(begun); took < raftlog.StallAfter-100*time.Millisecond {
		t.Errorf("another head leads after %v: a disk may take %v", took, raftlog.StallAfter)
	}
	if h := old.group.Heads(); h.Leads && h.Leader == old.group.o.Number {
		t.Error("the head whose disk does not answer says that it leads")
	}
	if err := second.PutSetting(t.Context(), "after", []byte("2")); err != nil {
		t.Fatal(err)
	}
	loosen()
	if err := <-stuck; err == nil {
		t.Error("the head whose disk did not answer has acknowledged a change of its own")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for from := old.state.Now(); ; { // the old leader follows
		if _, known := old.state.Setting("after"); known {
			break
		}
		batch, err := old.state.Watch(ctx, from)
		if err != nil {
			t.Fatal(err)
		}
		from = batch.Next
	}
	if old.state.Err() != nil || old.state.Leader() != second.Member().Self() {
		t.Errorf("the old leader has failed with %v, and takes %s for the leader", old.state.Err(), old.state.Leader())
	}
}

func TestStall_DiskAnswersAgain_EntriesAreSent(t *testing.T) {
	now := true
	s := stall{is: func() bool { return now }, log: slog.New(slog.DiscardHandler)}
	if err := s.check(); err != errStalled {
		t.Errorf("while the disk does not answer: %v", err)
	}
	now = false
	if err := s.check(); err != nil {
		t.Errorf("when the disk answers: %v", err)
	}
	if (&Group{}).stalled() {
		t.Error("a head without a disk waits for it")
	}
}

package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// codeState plays what the cluster's state does with large classes; the fake daemon's mu guards it.
type codeState struct {
	d       *fakeDaemon
	parts   []wire.CodePart
	data    []byte
	size    uint64
	dropped []string
	gets    []uint64                               // offsets that were asked for
	have    func(q *wire.CodePart) wire.CodeHave   // nil: what data and size say
	give    func(at uint64) (wire.CodeData, error) // answers TCodeGet
}

func (d *fakeDaemon) keepsCode() *codeState {
	s := &codeState{d: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.first = func(m *wire.Message) bool {
		switch m.Type {
		case wire.TCodePart:
			var q wire.CodePart
			_ = m.Decode(&q)
			s.parts = append(s.parts, q)
			if q.Size > 0 && q.Offset == uint64(len(s.data)) {
				s.data, s.size = append(s.data, q.Data...), q.Size
			}
			if s.have != nil {
				_ = m.Reply(s.have(&q))
			} else {
				_ = m.Reply(wire.CodeHave{Have: uint64(len(s.data)), Size: s.size})
			}
		case wire.TCodeDrop:
			var q wire.ActorRef
			_ = m.Decode(&q)
			s.dropped = append(s.dropped, string(q.ActorID))
		case wire.TCodeGet:
			var q wire.CodeAt
			_ = m.Decode(&q)
			s.gets = append(s.gets, q.Offset)
			if part, err := s.give(q.Offset); err != nil {
				_ = m.Fail(err)
			} else {
				_ = m.Reply(part)
			}
		default:
			return false
		}
		return true
	}
	return s
}

// now is a copy of the state, and set changes it.
func (s *codeState) now() codeState {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return *s
}

func (s *codeState) set(change func()) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	change()
}

// largeClass puts an object as a large class is put, and gives the bytes of the whole object.
func largeClass(t *testing.T, c *Client, size int) (id ids.Object, class, whole []byte) {
	t.Helper()
	class = make([]byte, size)
	for i := range class {
		class[i] = byte(i >> 10)
	}
	id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{class}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Get(id, testLimit)
	if err != nil || f.IsError {
		t.Fatal(f, err)
	}
	whole = bytes.Clone(f.Envelope)
	c.Release(Drop{View: f.View})
	waitFor(t, "the view is let go", func() bool { return inUse(c) == 0 })
	return id, class, whole
}

// inUse counts how often the program holds views.
func inUse(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeDrops()
	return c.local.Count().InUse
}

func TestGiveCode_LargeClass_TheStateGetsAllPartsInOrder(t *testing.T) {
	d := startDaemon(t)
	c, s := d.driver(), d.keepsCode()
	id, _, whole := largeClass(t, c, 2*codePart+100)
	a := ids.NewActor(c.info.Job)
	existing, err := c.giveCode(&wire.ActorCreate{ActorID: a[:], ClassName: "A"}, [][]byte{id[:]})
	if existing != nil || err != nil {
		t.Fatal(existing, err)
	}
	got := s.now()
	if !bytes.Equal(got.data, whole) || got.size != uint64(len(whole)) {
		t.Errorf("the state has %d of %d bytes", len(got.data), len(whole))
	}
	var offsets []int
	for _, q := range got.parts {
		offsets = append(offsets, int(q.Offset))
		if !bytes.Equal(q.ActorID, a[:]) || !bytes.Equal(q.ObjectID, id[:]) || len(q.Data) > codePart {
			t.Errorf("a part of %d bytes of object %x for actor %x", len(q.Data), q.ObjectID, q.ActorID)
		}
	}
	if want := []int{0, 0, codePart, 2 * codePart}; !slices.Equal(offsets, want) || got.parts[0].Size != 0 {
		t.Errorf("parts at %v, want %v, where the first only asks", offsets, want)
	}
	if n := inUse(c); n != 0 {
		t.Errorf("%d views of it are still held", n)
	}
	// What the state has it is not given again, for another actor neither.
	s.set(func() { s.parts = nil })
	b := ids.NewActor(c.info.Job)
	_, err = c.giveCode(&wire.ActorCreate{ActorID: b[:]}, [][]byte{id[:]})
	if got = s.now(); err != nil || len(got.parts) != 1 || len(got.parts[0].Data) != 0 {
		t.Errorf("%d parts, %v", len(got.parts), err)
	}
	// What another process has begun is gone on with.
	s.set(func() { s.parts, s.data = nil, s.data[:codePart+5] })
	_, err = c.giveCode(&wire.ActorCreate{ActorID: b[:]}, [][]byte{id[:]})
	if got = s.now(); err != nil || !bytes.Equal(got.data, whole) || got.parts[1].Offset != codePart+5 {
		t.Errorf("%d bytes in %d parts, %v", len(got.data), len(got.parts), err)
	}
	if len(got.dropped) > 0 {
		t.Error("what succeeded is dropped")
	}
}

func TestGiveCode_NothingIsLarge_NobodyIsAsked(t *testing.T) {
	c := bareClient(t, Options{})
	if existing, err := c.giveCode(&wire.ActorCreate{GetIfExists: true}, nil); existing != nil || err != nil {
		t.Error(existing, err)
	}
}

func TestGiveCode_ActorOfThatNameExists_NothingIsGiven(t *testing.T) {
	d := startDaemon(t)
	c, s := d.driver(), d.keepsCode()
	id, _, whole := largeClass(t, c, codePart)
	there := ids.NewActor(c.info.Job)
	d.mu.Lock()
	code := d.first
	d.first = func(m *wire.Message) bool {
		if m.Type != wire.TActorByName {
			return code(m)
		}
		var q wire.ActorByName
		_ = m.Decode(&q)
		if q.Name == "there" && q.Namespace == "n" {
			_ = m.Reply(wire.ActorNamed{ActorID: there[:]})
		} else {
			_ = m.Fail(fault.New(fault.NotFound, "no such actor"))
		}
		return true
	}
	d.mu.Unlock()
	q := wire.ActorCreate{ActorID: there[:], Name: "there", Namespace: "n", GetIfExists: true}
	if existing, err := c.giveCode(&q, [][]byte{id[:]}); err != nil || existing == nil || !bytes.Equal(existing.ActorID, there[:]) || len(s.now().parts) > 0 {
		t.Errorf("%+v, %v, %d parts", existing, err, len(s.now().parts))
	}
	q.Name = "not there"
	if existing, err := c.giveCode(&q, [][]byte{id[:]}); err != nil || existing != nil || !bytes.Equal(s.now().data, whole) {
		t.Errorf("%+v, %v, %d bytes", existing, err, len(s.now().data))
	}
	q.Name, q.GetIfExists = "there", false
	s.set(func() { s.parts, s.data, s.size = nil, nil, 0 })
	if existing, err := c.giveCode(&q, [][]byte{id[:]}); err != nil || existing != nil || !bytes.Equal(s.now().data, whole) {
		t.Errorf("without GetIfExists: %+v, %v, %d bytes", existing, err, len(s.now().data))
	}
}

func TestGiveCode_Failures_NameTheClassAndDropWhatWasGiven(t *testing.T) {
	d := startDaemon(t)
	c, s := d.driver(), d.keepsCode()
	id, _, _ := largeClass(t, c, codePart)
	lost, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, 1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Free([]ids.Object{lost}); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		object []byte
		have   func(*wire.CodePart) wire.CodeHave
		code   fault.Code
		words  string
	}{
		"no object's id":     {[]byte("short"), nil, fault.BadRequest, "actor A: its class:"},
		"it is lost":         {lost[:], nil, fault.ObjectLost, "actor A: give the cluster its class:"},
		"the state is stuck": {id[:], func(q *wire.CodePart) wire.CodeHave { return wire.CodeHave{Have: 7} }, fault.Internal, "the cluster has 7 of"},
		"the state has more": {id[:], func(q *wire.CodePart) wire.CodeHave {
			if q.Size == 0 {
				return wire.CodeHave{}
			}
			return wire.CodeHave{Have: q.Size + 1}
		}, fault.Internal, "actor A: give the cluster its class:"},
	} {
		s.set(func() { s.have, s.dropped = x.have, nil })
		existing, err := c.giveCode(&wire.ActorCreate{ActorID: []byte(what), ClassName: "A"}, [][]byte{x.object})
		if existing != nil || fault.CodeOf(err) != x.code || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: %+v, %v", what, existing, err)
		}
		if x.code != fault.BadRequest {
			d.eventually(what+": the state drops it", func() bool { return slices.Equal(s.dropped, []string{what}) })
		}
	}
	if n := inUse(c); n != 0 {
		t.Errorf("%d views are still held", n)
	}
}

func TestCodeObjects_EachOnce(t *testing.T) {
	s := ActorSpec{}
	if got := s.codeObjects(); got != nil {
		t.Errorf("got %q", got)
	}
	s.ActorCreate.Code = []byte("a")
	s.Fallback = []wire.Alternative{{Code: []byte("b")}, {}, {Code: []byte("a")}, {Code: []byte("c")}, {Code: []byte("b")}}
	if got := s.codeObjects(); string(bytes.Join(got, nil)) != "abc" {
		t.Errorf("got %q", got)
	}
}

func TestFetchCode_InParts_TheClassIsWhole(t *testing.T) {
	d := startDaemon(t)
	c, s := d.driver(), d.keepsCode()
	_, class, whole := largeClass(t, c, 3000)
	s.set(func() {
		s.give = func(at uint64) (wire.CodeData, error) {
			return wire.CodeData{Data: whole[at:min(at+1000, uint64(len(whole)))], Size: uint64(len(whole))}, nil
		}
	})
	fid := [16]byte{1}
	c.mu.Lock()
	defer c.mu.Unlock()
	worksFor(t, c, wire.RoleLease, templateOf(1, func(x *frame.Template) { x.FID, x.Blob = fid[:], nil }))
	defer func() { c.exec = nil }()
	if err := c.fetchClass(&execute.Call{Tmpl: &RemoteTemplate{FID: [16]byte{1}}, Actor: new(wire.ActorStart)}); err != nil || len(s.now().gets) > 0 {
		t.Errorf("of a small class: %v", err)
	}
	if err := c.fetchClass(&execute.Call{Tmpl: &RemoteTemplate{FID: [16]byte{2}}, Actor: &wire.ActorStart{Code: []byte("id")}}); err != nil {
		t.Errorf("of a class that nobody waits for: %v", err)
	}
	s.set(func() { s.gets = nil })
	if err := c.fetchClass(&execute.Call{Tmpl: &RemoteTemplate{FID: [16]byte{1}}, Actor: &wire.ActorStart{Code: []byte("id")}}); err != nil {
		t.Fatal(err)
	}
	if blob := c.exec.Load(fid); !bytes.Equal(blob, class) {
		t.Errorf("%d of %d bytes", len(blob), len(class))
	}
	if c.exec.Unload(fid); c.exec.Load(fid) != nil {
		t.Error("a fetched class stays when the program has loaded it")
	}
	if got, want := s.now().gets, []uint64{0, 1000, 2000, 3000}; !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
}

func TestFetchCode_StateAnswersWrongly_NamesTheActor(t *testing.T) {
	d := startDaemon(t)
	c, s := d.driver(), d.keepsCode()
	whole := func(v Value) []byte { return store.AppendEnvelope(nil, store.Format(v.Fmt), v.Meta, v.Bufs...) }
	all := func(b []byte) func(uint64) (wire.CodeData, error) {
		return func(at uint64) (wire.CodeData, error) { return wire.CodeData{Data: b[at:], Size: uint64(len(b))}, nil }
	}
	just := func(p wire.CodeData) func(uint64) (wire.CodeData, error) {
		return func(uint64) (wire.CodeData, error) { return p, nil }
	}
	for what, x := range map[string]struct {
		give  func(uint64) (wire.CodeData, error)
		code  fault.Code
		words string
	}{
		"it does not know it":   {func(uint64) (wire.CodeData, error) { return wire.CodeData{}, fault.New(fault.NotFound, "gone") }, fault.NotFound, "gone"},
		"too large":             {just(wire.CodeData{Data: []byte("x"), Size: maxCode + 1}), fault.Internal, "it has 1073741825 bytes, at most 1073741824 are allowed"},
		"nothing":               {just(wire.CodeData{Size: 10}), fault.Internal, "the cluster gave 0 bytes behind 0 of 10"},
		"more than there is":    {just(wire.CodeData{Data: []byte("abc"), Size: 5}), fault.Internal, "the cluster gave 3 bytes behind 3 of 5"},
		"no object":             {all([]byte("abc")), fault.Internal, ""},
		"a class and more":      {all(whole(Value{Fmt: FmtBytes, Bufs: [][]byte{{1}, {2}}})), fault.Internal, "holds no class"},
		"of another format":     {all(whole(Value{Fmt: FmtPickle, Bufs: [][]byte{{1}}})), fault.Internal, "holds no class"},
		"as large as may be is": {just(wire.CodeData{Size: maxCode}), fault.Internal, "the cluster gave 0 bytes behind 0 of 1073741824"},
	} {
		s.set(func() { s.give = x.give })
		fid := [16]byte{1}
		c.mu.Lock()
		c.exec = nil
		worksFor(t, c, wire.RoleLease, templateOf(1, func(x *frame.Template) { x.FID, x.Blob = fid[:], nil }))
		err := c.fetchClass(&execute.Call{Tmpl: &RemoteTemplate{FID: [16]byte{1}}, Actor: &wire.ActorStart{ClassName: "A", Code: []byte("id")}})
		blob := c.exec.Load(fid)
		c.exec = nil
		c.mu.Unlock()
		if err == nil || fault.CodeOf(err) != x.code && what != "no object" || !strings.HasPrefix(err.Error(), "actor A cannot start: its class") || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: %v", what, err)
		}
		if blob != nil {
			t.Errorf("%s: it counts as fetched", what)
		}
	}
}

func TestLacksArgument_OwnerEnded_SaysWhatToDo(t *testing.T) {
	k := &execute.Call{Actor: &wire.ActorStart{ClassName: "A"}}
	for code, advice := range map[fault.Code]bool{fault.OwnerDied: true, fault.ObjectLost: false} {
		err := lacksArgument(k, fault.New(code, "why"))
		if fault.CodeOf(err) != code || !strings.HasPrefix(err.Error(), "an argument of the constructor of A could not be had: why") ||
			strings.Contains(err.Error(), "let a process own it that stays") != advice {
			t.Errorf("%s: %v", code, err)
		}
	}
}

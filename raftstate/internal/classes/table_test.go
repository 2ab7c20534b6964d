package classes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// user is an actor of the model with what it needs.
type user struct {
	node    ids.Node
	objects []ids.Object
}

// model is what a table does, in the plainest form: the actors, and the bytes of each class that has come.
type model struct {
	waiting, registered map[ids.Actor]user
	sizes, have         map[ids.Object]uint64
}

func newModel() *model {
	return &model{map[ids.Actor]user{}, map[ids.Actor]user{}, map[ids.Object]uint64{}, map[ids.Object]uint64{}}
}

// users counts who needs each class.
func (m *model) users() map[ids.Object]int {
	n := map[ids.Object]int{}
	for _, all := range []map[ids.Actor]user{m.waiting, m.registered} {
		for _, u := range all {
			for _, object := range u.objects {
				n[object]++
			}
		}
	}
	return n
}

// forget forgets the classes that nobody needs.
func (m *model) forget() {
	users := m.users()
	for object := range m.sizes {
		if users[object] == 0 {
			delete(m.sizes, object)
			delete(m.have, object)
		}
	}
}

func (m *model) put(at At, bytes uint64) (uint64, error) {
	size, known := m.sizes[at.Object]
	sum := at.Size
	for _, s := range m.sizes {
		sum += s
	}
	switch {
	case known && size != at.Size:
		return 0, ErrTwoSizes
	case !known && sum > MaxBytes:
		return 0, ErrFull
	}
	m.sizes[at.Object] = at.Size
	u := m.waiting[at.Actor]
	if u.objects == nil || !slices.Contains(u.objects, at.Object) {
		m.waiting[at.Actor] = user{at.Node, append(slices.Clone(u.objects), at.Object)}
	}
	if at.Offset == m.have[at.Object] {
		m.have[at.Object] += bytes
	}
	return m.have[at.Object], nil
}

// assign registers an actor that has brought all objects whole.
func (m *model) assign(a ids.Actor, objects []ids.Object) bool {
	for i, object := range objects {
		if !slices.Contains(m.waiting[a].objects, object) || m.have[object] != m.sizes[object] || slices.Contains(objects[:i], object) {
			return false
		}
	}
	delete(m.waiting, a)
	m.registered[a] = user{objects: objects}
	m.forget()
	return true
}

// same compares a table with the model.
func same(t *testing.T, x *Table, m *model) {
	t.Helper()
	users, sum, large := m.users(), uint64(0), map[record.BlobHash]int{}
	for object, c := range x.classes {
		have := uint64(0)
		for _, part := range c.parts {
			if part.Size() == 0 {
				t.Fatalf("class %s has an empty part", object)
			}
			have += part.Size()
			for _, b := range part.Large() {
				large[b.Hash]++
			}
		}
		if c.users != users[object] || c.size != m.sizes[object] || c.have != m.have[object] || have != c.have {
			t.Fatalf("class %s: %d users, %d bytes of %d; want %d users, %d bytes of %d", object, c.users, have, c.size, users[object], m.have[object], m.sizes[object])
		}
		sum += c.size
	}
	if len(x.classes) != len(users) || len(x.pending) != len(m.waiting) || x.bytes != sum || x.counts.Len() != len(large) {
		t.Fatalf("%d classes of %d bytes with %d large values for %d actors; want %d of %d with %d for %d", len(x.classes), x.bytes, x.counts.Len(), len(x.pending), len(users), sum, len(large), len(m.waiting))
	}
	for h, n := range large {
		if x.counts.Users(h) != n {
			t.Fatalf("the large value %x has %d users, want %d", h, x.counts.Users(h), n)
		}
	}
	for a, p := range x.pending {
		if u := m.waiting[a]; p.node != u.node || !slices.Equal(p.objects, u.objects) {
			t.Fatalf("actor %s is about to need %v, want %v", a, p, u)
		}
	}
}

// images is a table as it is in a snapshot.
type images struct {
	parts   []any
	pending []*ImagePending
}

func imagesOf(x *Table) (im images) {
	x.Image(func(p *ImagePart) { im.parts = append(im.parts, p) }, func(p *ImageBlob) { im.parts = append(im.parts, p) }, func(p *ImagePending) { im.pending = append(im.pending, p) })
	return im
}

func (im images) String() string {
	var s string
	for _, p := range im.parts {
		s += fmt.Sprintf("%+v\n", p)
	}
	for _, p := range im.pending {
		s += fmt.Sprintf("%+v\n", *p)
	}
	return s
}

// restored returns the table that a snapshot with the images and with the registered actors gives.
func restored(t *testing.T, im images, m *model) *Table {
	t.Helper()
	x := New(values.NewCounts())
	var err error
	for _, p := range im.parts {
		switch p := p.(type) {
		case *ImagePart:
			err = errors.Join(err, x.RestorePart(p))
		case *ImageBlob:
			err = errors.Join(err, x.RestoreBlob(p))
		}
	}
	for _, u := range m.registered {
		err = errors.Join(err, x.RestoreUser(u.objects))
	}
	for _, p := range im.pending {
		err = errors.Join(err, x.RestorePending(p))
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Random parts come, actors are registered and end, nodes die: who needs what, and what is kept, is as in the plain model, also behind a snapshot. A
// clone stays as it was.
func TestTable_RandomCalls_AsInThePlainModel(t *testing.T) {
	var assigned, refused, restores int
	answers := map[error]int{}
	for seed := range uint64(20) {
		die := rand.New(rand.NewPCG(seed, 7))
		x, m := New(values.NewCounts()), newModel()
		clone, was := x.Clone(), ""
		for range 600 {
			a, object := ids.Actor{byte(die.IntN(6) + 1)}, ids.Object{byte(die.IntN(5) + 1)}
			switch die.IntN(10) {
			default:
				if _, there := m.registered[a]; there {
					continue
				}
				size := uint64(3)
				if object[0] > 3 {
					size = MaxBytes - 4 // only one of two fits
				}
				if die.IntN(20) == 0 {
					size--
				}
				at := At{Object: object, Actor: a, Size: size, Offset: uint64(die.IntN(3)), Node: ids.Node{byte(die.IntN(3))}}
				part := values.Value{Data: make([]byte, die.IntN(4-int(at.Offset)))}
				if n := len(part.Data); n > 0 && die.IntN(2) == 0 {
					part = values.Value{Blob: &record.Blob{Hash: record.BlobHash{byte(n)}, Size: uint32(n)}}
				}
				if at.Check(int(part.Size())) != nil {
					continue
				}
				have, err := x.Put(at, part)
				want, wantErr := m.put(at, part.Size())
				if have != want || !errors.Is(err, wantErr) {
					t.Fatalf("seed %d: %+v: got %d, %v, want %d, %v", seed, at, have, err, want, wantErr)
				}
				answers[err]++
			case 6:
				objects := []ids.Object{object, {byte(die.IntN(3) + 1)}}[:die.IntN(3)]
				if _, there := m.registered[a]; there {
					continue
				}
				ok := x.Assign(a, objects)
				if want := m.assign(a, objects); ok != want {
					t.Fatalf("seed %d: assign %v to %s: got %v, want %v", seed, objects, a, ok, want)
				}
				if ok && len(objects) > 0 {
					assigned++
				} else if !ok {
					refused++
				}
			case 7:
				x.Drop(a)
				delete(m.waiting, a)
			case 8:
				x.Release(m.registered[a].objects)
				delete(m.registered, a)
			case 9:
				n := ids.Node{byte(die.IntN(3))}
				if die.IntN(4) > 0 {
					continue
				}
				x.DropFrom(n)
				for a, u := range m.waiting {
					if u.node == n {
						delete(m.waiting, a)
					}
				}
			}
			m.forget()
			same(t, x, m)
			if got := imagesOf(clone).String(); got != was {
				t.Fatalf("seed %d: a clone has changed to %s, and was %s", seed, got, was)
			}
			if die.IntN(20) == 0 {
				im := imagesOf(x)
				if x = restored(t, im, m); imagesOf(x).String() != im.String() {
					t.Fatalf("seed %d: got %s, want %s", seed, imagesOf(x), im)
				}
				same(t, x, m)
				restores++
			}
			if die.IntN(10) == 0 {
				clone, was = x.Clone(), imagesOf(x).String()
			}
		}
	}
	if assigned == 0 || refused == 0 || restores == 0 || answers[nil] == 0 || answers[ErrFull] == 0 || answers[ErrTwoSizes] == 0 {
		t.Errorf("%d assigned, %d refused, %d restored, answers %v: the test does not see all", assigned, refused, restores, answers)
	}
}

// A part whose large value cannot be named changes nothing.
func TestTable_LargeValueCannotBeNamed_NothingChanges(t *testing.T) {
	x := New(values.NewCounts())
	b := record.Blob{Hash: record.BlobHash{1}, Size: 2}
	if err := x.counts.Add(b); err != nil {
		t.Fatal(err)
	}
	b.Size = 1
	at := At{Object: ids.Object{1}, Actor: ids.Actor{1}, Size: 3}
	if _, err := x.Put(at, values.Value{Blob: &b}); !errors.Is(err, values.ErrTwoSizes) {
		t.Errorf("got %v", err)
	}
	if len(x.classes) != 0 || len(x.pending) != 0 || x.bytes != 0 {
		t.Errorf("%d classes of %d bytes are kept for %d actors", len(x.classes), x.bytes, len(x.pending))
	}
}

// A part that nobody could have sent is refused before it is proposed.
func TestAt_PartOutsideOfTheClass_Refused(t *testing.T) {
	good := At{Object: ids.Object{1}, Actor: ids.Actor{1}, Size: 5, Offset: 2}
	if err := good.Check(3); err != nil {
		t.Error(err)
	}
	for what, c := range map[string]struct {
		at   At
		part int
	}{
		"no actor":             {At{Size: 5}, 3},
		"no size":              {At{Actor: ids.Actor{1}}, 0},
		"it begins behind it":  {At{Actor: ids.Actor{1}, Size: 5, Offset: 6}, 0},
		"it ends behind it":    {At{Actor: ids.Actor{1}, Size: 5, Offset: 2}, 4},
		"it is too large":      {At{Actor: ids.Actor{1}, Size: MaxBytes}, MaxPart + 1},
		"a sum that overflows": {At{Actor: ids.Actor{1}, Size: 5, Offset: ^uint64(0)}, 2},
	} {
		if err := c.at.Check(c.part); err == nil {
			t.Errorf("%s: it is not refused", what)
		}
	}
}

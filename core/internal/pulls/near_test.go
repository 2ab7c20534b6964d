package pulls

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestNear_MostBytesFirst(t *testing.T) {
	w := newWorld(t, 64<<20, 1, 2, 3)
	first := w.nodes[1]
	here, copied := first.id(), first.id()
	for _, id := range []ids.Object{here, copied} {
		first.put(new(process), id, mib)
	}
	w.nodes[3].get(new(process), copied, mib)
	w.nodes[3].handled(1)
	foreign := func(node uint32) ids.Object {
		return ids.NewObject(uint64(node), ids.NewWorkerOn(node).Owner(), ids.JobOf(1), 1)
	}
	for _, x := range []struct {
		what  string
		large []ids.Object
		sizes []uint64
		homes []uint32
		want  string
	}{
		{"nothing", nil, nil, nil, "[]"},
		{"here", []ids.Object{here}, []uint64{5}, nil, "[1]"},
		{"a copy is elsewhere, too", []ids.Object{copied}, []uint64{5}, nil, "[1 3]"},
		{"of another node's owner", []ids.Object{foreign(2)}, nil, nil, "[2]"},
		{"the process knows where", []ids.Object{foreign(2)}, []uint64{5}, []uint32{3}, "[3]"},
		{"the process is wrong", []ids.Object{foreign(2)}, []uint64{5}, []uint32{1}, "[2]"},
		{"as many bytes: this node first", []ids.Object{foreign(2), here}, []uint64{5, 5}, nil, "[1 2]"},
		{"more bytes elsewhere", []ids.Object{foreign(2), here}, []uint64{6, 5}, nil, "[2 1]"},
		{"together more", []ids.Object{here, foreign(2), foreign(3), foreign(4)}, []uint64{9, 5, 3, 3}, []uint32{0, 2, 3, 3}, "[1 3 2]"},
		{"sizes that overflow", []ids.Object{foreign(2), foreign(3)}, []uint64{^uint64(0), ^uint64(0)}, []uint32{3, 3}, "[3]"},
		{"many nodes", []ids.Object{foreign(2), foreign(3), foreign(4), foreign(5), foreign(6)}, []uint64{1, 2, 3, 4, 5}, nil, "[6 5 4 3]"},
	} {
		q := wire.LeaseWant{Sizes: x.sizes, Homes: x.homes, Large: [][]byte{{1, 2}}[:0]}
		for _, id := range x.large {
			q.Large = append(q.Large, id.Raw())
		}
		var got []uint32
		first.locked(func() { got = first.p.Near(&q, 4) })
		if fmt.Sprint(got) != x.want {
			t.Errorf("%s: %v, want %s", x.what, got, x.want)
		}
	}
}

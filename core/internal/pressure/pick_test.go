package pressure

import (
	"math/rand/v2"
	"testing"
	"time"
)

const mib = 1 << 20

// list makes workers: kind, owner, name, seconds since the start of the newest work, MiB.
func list(ws ...Worker) []Worker {
	for i := range ws {
		ws[i].ID = uint64(i + 1)
		ws[i].Bytes *= mib
	}
	return ws
}

func at(second int) time.Time { return time.Unix(int64(second), 0) }

func TestPick_Order(t *testing.T) {
	for name, c := range map[string]struct {
		workers []Worker
		want    uint64 // 0: nobody
	}{
		"nobody is there": {nil, 0},
		"the newest of the largest group": {list(
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(1), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "g", Started: at(5), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(3), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(2), Bytes: 100},
		), 3},
		"owners make groups, too": {list(
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(1), Bytes: 100},
			Worker{Kind: Task, Owner: "e", Name: "f", Started: at(2), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(1), Bytes: 100},
		), 3},
		"of groups with as many, that with more memory": {list(
			Worker{Kind: Task, Owner: "d", Name: "small", Started: at(9), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "large", Started: at(1), Bytes: 300},
		), 2},
		"of equals, the newer": {list(
			Worker{Kind: Task, Owner: "d", Name: "f", Started: at(1), Bytes: 100},
			Worker{Kind: Task, Owner: "d", Name: "g", Started: at(2), Bytes: 100},
		), 2},
		"what may be tried again before what may not": {list(
			Worker{Kind: Once, Owner: "d", Name: "f", Started: at(9), Bytes: 500},
			Worker{Kind: Once, Owner: "d", Name: "f", Started: at(8), Bytes: 500},
			Worker{Kind: LastActor, Owner: "d", Name: "A", Started: at(7), Bytes: 500},
			Worker{Kind: Restarts, Owner: "d", Name: "B", Started: at(6), Bytes: 500},
			Worker{Kind: Task, Owner: "d", Name: "g", Started: at(1), Bytes: 200},
		), 5},
		"actors that restart before tasks that may not run twice": {list(
			Worker{Kind: Once, Name: "f", Started: at(9), Bytes: 500},
			Worker{Kind: Restarts, Name: "B", Started: at(6), Bytes: 500},
			Worker{Kind: LastActor, Name: "A", Started: at(7), Bytes: 500},
		), 2},
		"actors that do not restart are last": {list(
			Worker{Kind: LastActor, Name: "A", Started: at(9), Bytes: 500},
			Worker{Kind: Once, Name: "f", Started: at(1), Bytes: 100},
		), 2},
		"idle ones first": {list(
			Worker{Kind: Task, Name: "f", Started: at(9), Bytes: 500},
			Worker{Kind: Idle, Started: at(1), Bytes: 100},
		), 2},
		"trifles are left alone, whatever their kind": {list(
			Worker{Kind: Idle, Started: at(9), Bytes: 10},
			Worker{Kind: Task, Name: "f", Started: at(9), Bytes: 10},
			Worker{Kind: Task, Name: "f", Started: at(9), Bytes: 10},
			Worker{Kind: LastActor, Name: "A", Started: at(1), Bytes: 500},
		), 4},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // maps are walked in any order
				rand.Shuffle(len(c.workers), func(i, j int) { c.workers[i], c.workers[j] = c.workers[j], c.workers[i] })
				if w, ok := Pick(c.workers); w.ID != c.want || ok != (c.want != 0) {
					t.Fatalf("picked %d (%v), want %d", w.ID, ok, c.want)
				}
			}
		})
	}
}

// Ended one by one, the workers of a group go newest first and the groups are evened out.
func TestPick_OneByOne_LargestGroupShrinks(t *testing.T) {
	var all []Worker
	for i := range 6 {
		all = append(all, Worker{ID: uint64(10 + i), Kind: Task, Name: "many", Started: at(i), Bytes: 100 * mib})
	}
	for i := range 3 {
		all = append(all, Worker{ID: uint64(20 + i), Kind: Task, Name: "few", Started: at(i), Bytes: 100 * mib})
	}
	var ended []uint64
	for len(all) > 0 {
		w, ok := Pick(all)
		if !ok {
			t.Fatal("nobody picked of", len(all))
		}
		ended = append(ended, w.ID)
		for i := range all {
			if all[i].ID == w.ID {
				all = append(all[:i], all[i+1:]...)
				break
			}
		}
	}
	for i, want := range []uint64{15, 14, 13} {
		if ended[i] != want {
			t.Fatalf("ended %v, want the three newest of the larger group first", ended)
		}
	}
}

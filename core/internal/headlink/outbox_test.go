package headlink

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Over any number of cuts the other side gets each item once and in order, and never more than MaxUnderWay ahead of
// its acknowledgement.
func TestOutbox_CutAnywhere_EachItemArrivesOnceAndInOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		o := newOutbox()
		var arrived, acked, made uint64
		for made < 1000 || acked < made {
			switch k := r.IntN(10); {
			case k < 3 && made < 1000:
				for range r.IntN(50) {
					made++
					o.add(fmt.Append(nil, made))
				}
			case k < 7:
				for {
					n, b, ok := o.next()
					if !ok {
						break
					}
					if r.IntN(300) == 0 { // lost with the connection, and all after it
						if err := o.resume(arrived); err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
						break
					}
					if n != arrived+1 || string(b) != fmt.Sprint(n) || n > acked+MaxUnderWay {
						t.Fatalf("seed %d: item %d %q came after %d, acknowledged %d", seed, n, b, arrived, acked)
					}
					arrived = n
				}
			default:
				acked += uint64(r.IntN(int(arrived-acked) + 1))
				if err := o.acknowledged(acked); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
		if len(o.items) != 0 || o.first != made+1 || o.sent != 0 {
			t.Fatalf("seed %d: left %d, first %d, sent %d", seed, len(o.items), o.first, o.sent)
		}
	}
}

func TestOutbox_NumbersThatCannotBe_AreRefused(t *testing.T) {
	o := newOutbox()
	for range 3 {
		o.add([]byte("x"))
	}
	o.next()
	o.next()
	for what, err := range map[string]error{
		"an acknowledgement of what was not sent": o.acknowledged(3),
		"an acknowledgement of what is not there": o.acknowledged(1 << 63),
		"the arrival of what is not there":        o.resume(4),
		"the arrival of the last number":          o.resume(1<<64 - 1),
	} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if err := o.acknowledged(2); err != nil {
		t.Fatal(err)
	}
	if err := o.acknowledged(1); err != nil {
		t.Errorf("once more: %v", err)
	}
	if o.resume(1) == nil {
		t.Error("the arrival of less than was acknowledged is accepted")
	}
	o.restart()
	if n, _, ok := o.next(); !ok || n != 3 {
		t.Errorf("after a restart number %d is sent", n)
	}
}

package client

import "testing"

// Who waits until objects are here does not hear of one that the store has lost
// before it is computed again. Others that are ready need no look.
func TestWaitHere_LostObject_IsComputedAgainFirst(t *testing.T) {
	d, c, m, list := computed(t, 2, 3)
	put, err := c.Put(&Value{Fmt: FmtBytes, Meta: []byte("put")})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, put)
	wait := func(need int) (ready []int) {
		t.Helper()
		if _, _, err := c.Wait(list, need, testLimit, WaitHere, func(i int, ok bool) {
			if ok {
				ready = append(ready, i)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return ready
	}
	d.loses(list[1])
	if got := wait(1); len(got) == 0 || m.ran() != "f" {
		t.Errorf("one of three: %v are ready, ran %q", got, m.ran())
	}
	if got := wait(3); len(got) != 3 || m.ran() != "f f" {
		t.Errorf("all: %v are ready, ran %q", got, m.ran())
	}
	for i, want := range []string{"f0.1,", "f1.2,"} {
		if got := get(t, c, list[i]); got != want {
			t.Errorf("result %d is %q, want %q", i, got, want)
		}
	}
	letGo(t, c, list...)
}

package executor

import "testing"

// Functions to be let go of are told before calls, each once, the latest first.
func TestTakeCalls_Forgets_EachOnce(t *testing.T) {
	c := newSession(t)
	e := c.exec
	forget := func(list ...string) {
		for _, fid := range list {
			e.Forget([]byte(fid))
		}
	}
	forget("a", "b", "c")
	got := ""
	for _, most := range []int{2, 9} {
		for _, it := range c.takeCalls(nil, most) {
			got += string(it.Blob)
			if it.Kind != ItemForget {
				t.Errorf("kind %d", it.Kind)
			}
		}
	}
	if n := e.Counts().Forgets; got != "cba" || n != 0 {
		t.Errorf("told %q, %d are left", got, n)
	}
	forget("d")
	e.Stop("over")
	for _, it := range c.takeCalls(nil, 9) {
		if it.Kind == ItemForget {
			t.Error("a function is let go of after the end")
		}
	}
}

// What another process names when it forgets a function may be empty: the functions that were named before are told all the same.
func TestNextTask_AFunctionWithoutAnIDIsForgotten_TheOthersAreTold(t *testing.T) {
	for _, none := range [][]byte{nil, {}} {
		for what, next := range map[string]func(c *session) *Item{
			"a thread": func(c *session) *Item {
				it, err := c.NextTask(-1, "")
				if err != nil {
					t.Fatal(err)
				}
				return it
			},
			"an event loop": func(c *session) *Item {
				c.mutex.Lock()
				defer c.mutex.Unlock()
				if list := c.takeCalls(nil, 1); len(list) == 1 {
					return list[0]
				}
				return &Item{}
			},
		} {
			c := newSession(t)
			for _, fid := range [][]byte{[]byte("one"), none} {
				c.exec.Forget(fid)
			}
			for _, want := range []string{"", "one"} {
				if it := next(c); it.Kind != ItemForget || string(it.Blob) != want {
					t.Errorf("%s gets %+v, want that the function %q is to be let go of", what, it, want)
				}
			}
		}
	}
}

package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A number among the settings is decimal and has 32 bits. What is none counts as not set; our prefix goes before Ray's.
func TestNumber_EachText_IsReadOrIgnored(t *testing.T) {
	for value, want := range map[string]int{"10": 10, "-3": -3, "007": 7, "0": 0, "": 5, "x": 5, "1.5": 5, "0x10": 5, "2147483647": 2147483647, "2147483648": 5} {
		c := &Client{opts: Options{Env: map[string]string{"RAY_n": value}}}
		if got := c.number("n", 5); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
	both := &Client{opts: Options{Env: map[string]string{"RAY_n": "1", "EAGLERAY_n": "2", "RAY_m": "3", "EAGLERAY_m": ""}}}
	for name, want := range map[string]int{"n": 2, "m": 3, "o": 5} {
		if got := both.number(name, 5); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if v, ok := both.setting("o"); ok || v != "" {
		t.Errorf("a variable that is not set is %q, %v", v, ok)
	}
	if v, ok := both.setting("n"); !ok || v != "2" {
		t.Errorf("a variable that is set is %q, %v", v, ok)
	}
	t.Setenv("EAGLERAY_of_this_process", "9")
	if got := new(Client).number("of_this_process", 5); got != 9 {
		t.Errorf("a variable of the process's environment: %d", got)
	}
	if got := both.number("of_this_process", 5); got != 5 {
		t.Errorf("a variable that the program has not: %d", got)
	}
}

// Failures that nobody fetches are told by processes that have a user, unless the user has switched that off.
func TestStartUnfetched_ByRoleAndSetting_IsOnOrOff(t *testing.T) {
	off := map[string]string{notice.IgnoreUnfetched: "1"}
	for _, x := range []struct {
		what string
		o    Options
		off  bool
	}{
		{"a driver", Options{Role: wire.RoleDriver, Env: map[string]string{}}, false},
		{"a driver that switched it off", Options{Role: wire.RoleDriver, Env: off}, true},
		{"a worker", Options{Role: wire.RoleWorker, Env: map[string]string{}}, false},
		{"a worker that switched it off", Options{Role: wire.RoleWorker, Env: off}, true},
		{"a successor", Options{Role: wire.RoleSuccessor, Env: map[string]string{}}, true},
		{"a program with a function of its own", Options{Role: "other", Env: map[string]string{}, Unfetched: func(string) {}}, false},
		{"a program with a function of its own that switched it off", Options{Role: "other", Env: off, Unfetched: func(string) {}}, true},
	} {
		c := &Client{opts: x.o}
		c.notes.Init()
		c.startUnfetched()
		if c.unfetched.On() == x.off {
			t.Errorf("%s: off is %v", x.what, !x.off)
		}
		if x.o.Role == wire.RoleDriver && !x.off {
			(*host)(c).neverFetched(&notice.Failure{First: 1, Fault: fault.New(fault.WorkerCrashed, "words")})
			if n := c.NextNote(0); n == nil || !strings.HasSuffix(n.Error, ": words") {
				t.Errorf("%s: the note is %+v", x.what, n)
			}
		}
	}
}

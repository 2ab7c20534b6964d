package wire

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestAddressOf_ComesBackWithItsNode(t *testing.T) {
	for _, o := range []ids.Owner{{}, ids.DaemonOn(7), ids.NewWorkerOn(1).Owner(), ids.NewWorkerOn(1<<32 - 1).Owner()} {
		addr := AddressOf(o)
		if got, err := ParseAddress(addr); err != nil || got != o {
			t.Errorf("the address %s is that of %s, %v", addr, got, err)
		}
		if want := "/s/p/" + o.String() + ".sock"; SocketPath("/s", o) != want {
			t.Errorf("it listens at %s, want %s", SocketPath("/s", o), want)
		}
	}
}

// An address comes from other processes, and a path is made of it.
func TestParseAddress_WhatIsNone_IsRefused(t *testing.T) {
	good := AddressOf(ids.Owner{0, 0, 0, 1, 0xab})
	for what, addr := range map[string]string{
		"empty":           "",
		"too short":       good[1:],
		"too long":        good + "0",
		"a path":          "/tmp/s/p/" + good[:15],
		"a way out":       "../../../../../../../../",
		"capital letters": strings.ToUpper(good),
		"no digits":       "g" + good[1:],
		"a zero byte":     good[:23] + "\x00",
		"very long":       strings.Repeat(good, 1<<10),
	} {
		o, err := ParseAddress(addr)
		if err == nil || o != (ids.Owner{}) {
			t.Errorf("%s: %s, %v", what, o, err)
		} else if len(err.Error()) > 300 || !strings.Contains(err.Error(), "is not a process's address") {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(AddressOf(ids.Owner{0, 0, 0, 1, 0xab}))
	f.Add("../../../../../../../../")
	f.Fuzz(func(t *testing.T, addr string) {
		if o, err := ParseAddress(addr); err == nil && AddressOf(o) != addr {
			t.Errorf("%q is taken for the address of %s", addr, o)
		}
	})
}

package heads

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAmong_TheFirstSessionWithOneOfTheHeads(t *testing.T) {
	dir := func(list ...string) string {
		d := t.TempDir()
		if list != nil {
			if err := Write(d, list); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	alone, one, two, broken := dir(), dir("10.0.0.1:6379"), dir("127.0.0.1:7000", "[::1]:7001"), dir("x", "10.0.0.1")
	all := []string{alone, broken, one, two}
	for address, want := range map[string]string{
		"10.0.0.1:6379": one, "10.0.0.1:6380": "", "localhost:7000": two, "[::1]:7001": two, "10.9.9.9:1,10.0.0.1:6379": one, "10.0.0.2:6379": "",
	} {
		list, err := Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := Among(t.Context(), list, all); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestFirst_PutsOneInFront(t *testing.T) {
	dirs := []string{"a", "b", "c"}
	for first, want := range map[string]string{"a": "abc", "b": "bac", "c": "cab", "x": "abc", "": "abc"} {
		if got := strings.Join(First(dirs, first), ""); got != want {
			t.Errorf("%q: got %s, want %s", first, got, want)
		}
	}
	if strings.Join(dirs, "") != "abc" {
		t.Errorf("the list itself became %q", dirs)
	}
}

// A file that somebody has filled is not read to its end.
func TestOf_FileIsHuge_IsCut(t *testing.T) {
	d := t.TempDir()
	if err := os.WriteFile(filepath.Join(d, Name), []byte(strings.Repeat("a:1\n", maxBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := len(Of(d)); n != maxBytes/4 {
		t.Errorf("%d addresses are read", n)
	}
}

func TestParse_Lists(t *testing.T) {
	got, err := Parse(" 10.0.0.1:6379, [::1]:7 ,host:65535,")
	if err != nil || !slices.Equal(got, []string{"10.0.0.1:6379", "[::1]:7", "host:65535"}) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", ",", "host", "host:", "host:0", "host:65536", "host:x", ":6379", "a:1,b", strings.Repeat("a:1,", 17)} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("%q: got %q", bad, got)
		}
	}
}

func TestIs_AddressesOfHeads_NotFolders(t *testing.T) {
	for address, want := range map[string]bool{"10.0.0.1:6379": true, "a:1,b:2": true, "[::1]:7": true, "/tmp/s:1": false, "auto": false, "ray://h:10001": false, "": false} {
		if Is(address) != want {
			t.Errorf("%q: got %v", address, !want)
		}
	}
}

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/nodeprocess"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
)

// noTokens leaves no variable that names a token.
func noTokens(t *testing.T) {
	for _, name := range []string{tokenFileVar, rayAuthModeVar, rayTokenVar, rayTokenPathVar} {
		t.Setenv(name, "")
	}
}

func TestTokenSource_ConfigurationOfANode_HoldsNoSecret(t *testing.T) {
	noTokens(t)
	const secret = "a secret of many characters"
	t.Setenv(rayTokenVar, secret)
	for _, flags := range []map[string]string{{"--head": "true"}, {"--address": "h:1"}} {
		c, err := clusterConfig(flags, t.TempDir(), nodeprocess.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c)
		if err != nil || strings.Contains(string(b), secret) || !strings.Contains(string(b), rayTokenVar) {
			t.Errorf("%s, %v", b, err)
		}
		if token, err := c.Node.Member.Token.Read(); err != nil || token.From() != "the variable "+rayTokenVar {
			t.Errorf("%v, %v", token, err)
		}
	}
}

func TestTokenOf_SeveralAreGiven_TheFirstCounts(t *testing.T) {
	noTokens(t)
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		if err := pki.WriteToken(path, pki.NewToken(path)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag, ours, rays := file("flag"), file("ours"), file("rays")
	check := func(flags map[string]string, want process.TokenSource) {
		t.Helper()
		if got, given, err := tokenOf(flags); err != nil || got != want || given != (want != process.TokenSource{}) {
			t.Errorf("got %+v, %v, %v; want %+v", got, given, err, want)
		}
	}
	check(nil, process.TokenSource{})
	t.Setenv(rayTokenPathVar, rays)
	check(nil, process.TokenSource{File: rays})
	t.Setenv(rayTokenVar, "sixteen characters or more")
	check(nil, process.TokenSource{Variable: rayTokenVar})
	t.Setenv(rayAuthModeVar, "disabled")
	check(nil, process.TokenSource{})
	t.Setenv(tokenFileVar, ours)
	check(nil, process.TokenSource{File: ours})
	check(map[string]string{"--token-file": flag}, process.TokenSource{File: flag})
	t.Setenv(rayAuthModeVar, "maybe")
	if _, _, err := tokenOf(nil); err == nil || !strings.Contains(err.Error(), `RAY_AUTH_MODE: "maybe"`) {
		t.Errorf("a wrong mode: %v", err)
	}
}

func TestHeadToken_NoneIsGiven_IsMadeOnceForTheBase(t *testing.T) {
	noTokens(t)
	base := t.TempDir()
	if _, err := joinToken(nil, base); err == nil || !strings.Contains(err.Error(), "joining a cluster needs its token") {
		t.Errorf("there is no token: %v", err)
	}
	first, err := headToken(nil, base)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(first.File)
	if err != nil || first.File != filepath.Join(base, "token") {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err1 := headToken(nil, base)
	joins, err2 := joinToken(nil, base)
	now, err3 := os.ReadFile(first.File)
	if again != first || joins != first || string(now) != string(text) || err1 != nil || err2 != nil || err3 != nil {
		t.Errorf("a second cluster of the base: %+v, a node: %+v; %v, %v, %v", again, joins, err1, err2, err3)
	}
	if err := os.Chmod(first.File, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := headToken(nil, base); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others may read it: %v", err)
	}
}

func TestHeadAddresses_List(t *testing.T) {
	got, err := headAddresses("10.0.0.1:6379, head.svc:7,[::1]:8")
	if err != nil || strings.Join(got, " ") != "10.0.0.1:6379 head.svc:7 [::1]:8" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"", ",", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:70000", ":6379", "a b:1", "::1:5", strings.Repeat("h:1,", maxHeads+1)} {
		if got, err := headAddresses(text); err == nil {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

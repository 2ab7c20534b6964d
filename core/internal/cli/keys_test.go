package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

func TestKeys_WrongCommandLines_SayWhatIsThere(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	for _, c := range []struct {
		words []string
		says  string
	}{
		{[]string{"token", "dance"}, `no command "dance"`},
		{[]string{"authority", "finish"}, `no command "finish"`},
		{[]string{"revoke"}, "no node is named"},
		{[]string{"revoke", "--insecure"}, "no node is named"},
		{[]string{"token", "rotate", "--force"}, "--force"},
		{[]string{"token", "status", "--address=here"}, "--address"},
		{[]string{"token", "status"}, "no cluster is running on this machine"},
	} {
		var out, errs bytes.Buffer
		if status := Main(c.words, "1.2.3", &out, &errs); status == 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q: status %d, %s", c.words, status, errs.String())
		}
	}
	for _, words := range [][]string{{"token"}, {"authority", "--help"}, {"token", "rotate", "--help"}, {"revoke", "--help"}} {
		var out, errs bytes.Buffer
		if status := Main(words, "1.2.3", &out, &errs); status != 0 || !strings.Contains(out.String(), "usage: eagleray "+words[0]) {
			t.Errorf("%q: status %d, %s", words, status, out.String())
		}
	}
}

// A head that nobody reaches: the new token is kept, because the head may have it.
func TestTokenRotate_NoHeadAnswers_KeepsTheFileAndSaysSo(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "token")
	if err := pki.WriteToken(path, pki.NewToken(path)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := runToken([]string{"rotate", "--address=127.0.0.1:1", "--token-file=" + path}, "1.2.3", &out)
	if err == nil || !strings.Contains(err.Error(), "nobody knows whether the head has the new token") {
		t.Errorf("%v", err)
	}
	if _, err := pki.ReadToken(path + ".new"); err != nil {
		t.Error(err)
	}
	t.Setenv(rayTokenVar, strings.Repeat("ab", 32))
	err = runToken([]string{"rotate", "--address=127.0.0.1:1"}, "1.2.3", &out)
	var wrong *usageError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--new-token-file") {
		t.Errorf("the token is in a variable: %v", err)
	}
	if _, err := os.Stat(path + ".new.new"); err == nil {
		t.Error("another file was written")
	}
}

func TestTellTokens_EachState_SaysWhatIsLeft(t *testing.T) {
	node := func(token int, heard bool) linkmsg.AdminNode {
		return linkmsg.AdminNode{Number: 2, Name: "two", Address: "10.0.0.2", Token: token, Heard: heard}
	}
	for _, c := range []struct {
		a    linkmsg.AdminAnswer
		says []string
	}{
		{linkmsg.AdminAnswer{Tokens: []string{"/a"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(1, true)}}, []string{"one token (/a)", "two (node 2 at 10.0.0.2)", "has the token"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(0, true)}}, []string{"no token of this cluster", "cannot join again"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(1, true)}}, []string{"old   /a", "new   /b", "has the old token", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(0, false)}}, []string{"has not answered", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(2, true)}}, []string{"has the new token", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(2, true)}}, []string{"All machines have the new token", "token finish"}},
	} {
		var out bytes.Buffer
		tellTokens(&out, &c.a)
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}

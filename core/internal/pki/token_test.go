package pki

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fixed returns a token that is the same in each run.
func fixed(b byte) Token {
	var key [tokenSize]byte
	for i := range key {
		key[i] = b + byte(i)
	}
	return tokenOf(key, fmt.Sprintf("file %d", b))
}

func same(a, b Token) bool { return a.key() == b.key() }

func TestParseToken_Text_IsTheTokenOrIsHashed(t *testing.T) {
	want := fixed(1)
	for _, text := range []string{want.Text(), "  " + want.Text() + "\r\n", strings.ToUpper(want.Text())} {
		got, err := ParseToken(text, "here")
		if err != nil || !same(got, want) || got.From() != "here" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	hashed, err := ParseToken("\ta text of people's\n", "here")
	if err != nil || hashed.From() != "here" {
		t.Fatal(hashed, err)
	}
	if got := hashed.Text(); got != textRecorded {
		t.Errorf("hashed to %s: machines of different builds do not have the same token then", got)
	}
	other, err := ParseToken(strings.Repeat("g", 64), "here") // as long as a token, and none
	if err != nil || same(other, hashed) || same(other, want) {
		t.Errorf("%v, %v", other, err)
	}
}

// BenchmarkParseToken is what each guess of a text costs, and each start with one.
func BenchmarkParseToken(b *testing.B) {
	for b.Loop() {
		if _, err := ParseToken("a text of people's", "here"); err != nil {
			b.Fatal(err)
		}
	}
}

const textRecorded = "d9dfa52c2a17904f06daf46eb9ccba0222d99ec439e5c40100d81a93516d5860"

func TestParseToken_Unusable_SaysWhereItCameFrom(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "space": " \n\t", "short": "fifteen letters", "long": strings.Repeat("a", maxTokenText+1),
	} {
		_, err := ParseToken(text, "the variable X")
		if !errors.Is(err, ErrBadToken) || !strings.Contains(err.Error(), "the variable X") {
			t.Errorf("%s: %v", name, err)
		}
		if len(text) > 2 && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the message tells the text: %v", name, err)
		}
	}
}

func TestToken_Printed_TellsNoSecret(t *testing.T) {
	token := fixed(7)
	holder := struct{ hidden Token }{token}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", token, "in", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", token, "in", holder)
	//lint:ignore SA9005 that nothing comes out is what is tested
	text, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	log.Write(text)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		fmt.Fprintf(&log, verb+verb+verb, token, &token, holder)
	}
	key := token.key()
	secret := key[:]
	for _, form := range []string{token.Text(), strings.ToUpper(token.Text()), string(secret), fmt.Sprint(secret)[1:20], fmt.Sprintf("%#v", secret)[7:40]} {
		if strings.Contains(log.String(), form) {
			t.Errorf("%q is printed in %s", form, log.String())
		}
	}
	if !strings.Contains(log.String(), "token from file 7") {
		t.Errorf("the token is not named: %s", log.String())
	}
}

func TestTokenFile_Written_IsPrivateAndReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	want := NewToken(path)
	if err := WriteToken(path, want); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	got, err := ReadToken(path)
	if err != nil || !same(got, want) || got.From() != path {
		t.Errorf("read %v, %v", got, err)
	}
	if err := WriteToken(path, NewToken("")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over the first one: %v", err)
	}
	if again, err := ReadToken(path); err != nil || !same(again, want) {
		t.Errorf("the first one has changed: %v", err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if err := WriteToken(filepath.Join(path, "below"), want); err == nil {
		t.Error("written where no folder is")
	}
}

func TestReadToken_FileThatOthersMayReadOrIsNone_IsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := fixed(3).Text()
	refused := map[string]string{
		"readable by others":    write("a", 0o604, good),
		"readable by the group": write("b", 0o640, good),
		"writable by the group": write("c", 0o620, good),
		"runnable by others":    write("d", 0o601, good),
		"empty":                 write("e", 0o600, ""),
		"too long":              write("f", 0o600, strings.Repeat("a", maxTokenText+1)),
		"a folder":              dir,
		"a pipe that is silent": filepath.Join(dir, "pipe"),
		"a device":              "/dev/zero",
	}
	if err := unix.Mkfifo(refused["a pipe that is silent"], 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		refused["of another user"] = write("g", 0o600, good)
		if err := os.Chown(refused["of another user"], 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range refused {
		_, err := ReadToken(path)
		if !errors.Is(err, ErrBadToken) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), good) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadToken(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none") {
		t.Errorf("no file: %v", err)
	}
	link := filepath.Join(dir, "link") // as Kubernetes mounts secrets
	if err := os.Symlink(write("target", 0o400, good), link); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadToken(link); err != nil || !same(got, fixed(3)) || got.From() != link {
		t.Errorf("through a link: %v, %v", got, err)
	}
}

func TestToken_Derive_EachPurposeHasItsKey(t *testing.T) {
	a, b := fixed(1), fixed(2)
	if x, y := a.derive("x"), a.derive("y"); bytes.Equal(x, y) || bytes.Equal(x, []byte(a.Text())) || bytes.Equal(x, b.derive("x")) {
		t.Error("keys that must differ are equal")
	}
	if got := hex.EncodeToString(a.derive("join")); got != joinKeyRecorded {
		t.Errorf("the key of joins is %s: with another one machines of different builds do not find together", got)
	}
}

const joinKeyRecorded = "5ec5b7c0776060c01d3fa209f0df433f16ad620b3b227e663823d23a92fcae1b"

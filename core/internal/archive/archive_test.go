package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes files in a folder. A name that ends with "/" is a folder, a text that begins with "->" a symlink.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(to, at)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// list returns what a folder has, in the form that write takes.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, at)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			found[name+"/"] = ""
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(at)
			found[name] = "->" + to
		default:
			b, err := os.ReadFile(at)
			found[name] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func pack(t *testing.T, from string, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Pack(&b, from, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed returns what a copy of a folder has.
func packed(t *testing.T, from string, o Options) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := Unpack(bytes.NewReader(pack(t, from, o)), dir); err != nil {
		t.Fatal(err)
	}
	return list(t, dir)
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestPack_EqualContents_EqualBytes(t *testing.T) {
	files := map[string]string{"b.py": "1", "a/c": "2", "empty/": "", "link": "->a/c"}
	one, two := t.TempDir(), t.TempDir()
	write(t, one, files)
	write(t, two, files)
	if err := os.Chtimes(filepath.Join(two, "b.py"), fixed, fixed); err != nil {
		t.Fatal(err)
	}
	first := pack(t, one, Options{})
	if !bytes.Equal(first, pack(t, two, Options{})) {
		t.Error("equal folders make different bytes")
	}
	for name, change := range map[string]func() error{
		"contents":             func() error { return os.WriteFile(filepath.Join(two, "b.py"), []byte("x"), 0o644) },
		"the right to execute": func() error { return os.Chmod(filepath.Join(one, "b.py"), 0o755) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(first, pack(t, two, Options{})) && bytes.Equal(first, pack(t, one, Options{})) {
			t.Errorf("a change of %s makes the same bytes", name)
		}
	}
}

func TestPack_Unpack_IsTheSame(t *testing.T) {
	from := t.TempDir()
	long := strings.Repeat("n", 200) + "/" + strings.Repeat("ü", 90)
	write(t, from, map[string]string{"b.py": "1", "a/c/d": "2", "empty/": "", "a/up": "->../b.py", "folder": "->a/c", long: "3"})
	if err := os.Chmod(filepath.Join(from, "b.py"), 0o700); err != nil {
		t.Fatal(err)
	}
	same(t, packed(t, from, Options{}), list(t, from))
	into := t.TempDir()
	if err := Unpack(bytes.NewReader(pack(t, from, Options{})), into); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(into, "b.py")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("a program is not executable any more: %v, %v", info.Mode(), err)
	}
}

func TestPack_Named_IsUnderItsName(t *testing.T) {
	from := filepath.Join(t.TempDir(), "parcel")
	write(t, from, map[string]string{"__init__.py": "1", "sub/x.py": "2"})
	same(t, packed(t, from, Options{Named: true}), map[string]string{"parcel/": "", "parcel/__init__.py": "1", "parcel/sub/": "", "parcel/sub/x.py": "2"})
	same(t, packed(t, filepath.Join(from, "__init__.py"), Options{Named: true}), map[string]string{"__init__.py": "1"})
}

func TestPack_Symlinks(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"file": "o", "folder/in": "p", "folder/.gitignore": "hidden", "folder/hidden": "h"})
	from := t.TempDir()
	write(t, from, map[string]string{
		"a/file": "1", "absolute": "->" + from + "/a/file", "a/deep": "->../a/./../a/file",
		"out": "->" + outside + "/file", "out2": "->" + outside + "/folder", "nowhere": "->missing", "pipe": "->/dev/null",
	})
	same(t, packed(t, from, Options{}), map[string]string{
		"a/": "", "a/file": "1", "absolute": "->a/file", "a/deep": "->file",
		"out": "o", "out2/": "", "out2/in": "p", "out2/.gitignore": "hidden",
	})
	write(t, outside, map[string]string{"folder/circle": "->.."})
	write(t, outside, map[string]string{"again": "->folder"})
	if _, err := Pack(new(bytes.Buffer), from, Options{}); err == nil || !strings.Contains(err.Error(), "leads to a folder above itself") {
		t.Errorf("a circle: %v", err)
	}
}

func TestPack_TooMuch_SaysWhatToDo(t *testing.T) {
	from := t.TempDir()
	write(t, from, map[string]string{"a": "", "large": ""})
	if err := os.Truncate(filepath.Join(from, "large"), MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(new(bytes.Buffer), from, Options{}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "in large") {
		t.Errorf("got %v", err)
	}
	same(t, packed(t, from, Options{Excludes: []string{"large"}}), map[string]string{"a": ""})
	if _, err := Pack(new(bytes.Buffer), filepath.Join(from, "missing"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

func TestPack_IgnoreFiles(t *testing.T) {
	from := t.TempDir()
	write(t, from, map[string]string{
		".gitignore": "*.log\n!keep.log\n/top\nbuild/\n# comment\n\n", ".rayignore": "raw\n",
		"x.log": "", "keep.log": "", "top": "", "raw": "", "build/x": "", "sub/top": "", "sub/build": "", "sub/x.log": "",
		"sub/.gitignore": "mine\n", "sub/mine": "", "mine": "", "sub/deep/mine": "",
	})
	names := func(o Options) string {
		var all []string
		for name := range packed(t, from, o) {
			if !strings.HasSuffix(name, "/") && !strings.HasPrefix(filepath.Base(name), ".") {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got, want := names(Options{}), "keep.log mine sub/build sub/top"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := names(Options{Excludes: []string{"sub/"}}), "keep.log mine"; got != want {
		t.Errorf("with excludes: got %q, want %q", got, want)
	}
	if got, want := names(Options{NoGitignore: true, Excludes: []string{"sub"}}), "build/x keep.log mine top x.log"; got != want {
		t.Errorf("without .gitignore: got %q, want %q", got, want)
	}
}

func TestRules_AreGits(t *testing.T) {
	for _, c := range []struct {
		lines, name string
		out         bool
	}{
		{"a", "a", true}, {"a", "x/y/a", true}, {"a", "ab", false}, {"/a", "x/a", false}, {"/a", "a", true},
		{"x/a", "x/a", true}, {"x/a", "y/x/a", false}, {"**/a", "y/x/a", true}, {"x/**", "x/y/z", true}, {"x/**", "x", false},
		{"x/**/z", "x/z", true}, {"x/**/z", "x/a/b/z", true}, {"x/**/z", "x/a/b", false}, {"*.py", "d/x.py", true}, {"*", "x", true},
		{"a?c", "abc", true}, {"[ab]c", "bc", true}, {"[!ab]c", "bc", false}, {"[!ab]c", "xc", true}, {"a/", "a", false}, {"a/", "a/ folder", true},
		{"a\n!a", "a", false}, {"!a\na", "a", true}, {`\#a`, "#a", true}, {"#a", "#a", false}, {"a  ", "a", true}, {`a\ `, "a ", true},
		{"[", "[", false}, {"/", "a", false}, {"a\r", "a", true},
	} {
		r := newRules("", strings.Split(c.lines, "\n"))
		name, folder := strings.CutSuffix(c.name, "/ folder")
		if got := r.excludes(name, folder); got != c.out {
			t.Errorf("%q excludes %q: %v", c.lines, c.name, got)
		}
	}
	below := newRules("sub", []string{"/a"})
	if !below.excludes("sub/a", false) || below.excludes("a", false) || below.excludes("sub/b/a", false) {
		t.Error("a list of a folder counts elsewhere")
	}
}

// entries makes a stream of headers.
func entries(t *testing.T, list ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range list {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, min(h.Size, 10))); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func TestUnpack_WhatLeavesTheFolder_IsRefused(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
	for name, list := range map[string][]tar.Header{
		"no path below the folder, ..":       {file("../x")},
		"no path below the folder, absolute": {file("/tmp/x")},
		"no path below the folder, hidden":   {dir("a"), file("a/../../x")},
		"comes twice, the folder itself":     {file(".")},
		"lies in no folder":                  {file("a/b")},
		"lies in no folder, but a file":      {file("a"), file("a/b")},
		"lies in no folder, but a symlink":   {dir("d"), link("a", "d"), file("a/b")},
		"comes twice":                        {file("a"), file("a")},
		"comes twice, first a symlink":       {link("a", "b"), file("a")},
		"must lead to a place, absolute":     {link("a", "/etc")},
		"must lead to a place, ..":           {link("a", "..")},
		"must lead to a place, deeper":       {dir("d"), link("d/a", "../../x")},
		"must lead to a place, by a symlink": {dir("d"), link("d/s", "."), link("a", "d/s/../../x")},
		"are not allowed":                    {{Typeflag: tar.TypeLink, Name: "a", Linkname: "b"}},
		"are not allowed, device":            {{Typeflag: tar.TypeChar, Name: "a"}},
		"too large":                          {{Typeflag: tar.TypeReg, Name: "a", Size: MaxBytes + 1}},
	} {
		outer := t.TempDir()
		into := filepath.Join(outer, "into")
		write(t, outer, map[string]string{"into/": ""})
		why, _, _ := strings.Cut(name, ",")
		if err := Unpack(entries(t, list...), into); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
		if got := list0(t, outer); got != "into/" {
			t.Errorf("%s: there is %s", name, got)
		}
	}
}

// list0 returns the names at the top of a folder.
func list0(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	for name := range list(t, dir) {
		if !strings.Contains(strings.TrimSuffix(name, "/"), "/") {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

func TestUnpack_CutOrDamaged_IsRefused(t *testing.T) {
	from := t.TempDir()
	write(t, from, map[string]string{"a": strings.Repeat("x", 5000), "b/c": "1"})
	b := pack(t, from, Options{})
	for _, n := range []int{1, 100, 600, 3000} {
		if err := Unpack(bytes.NewReader(b[:n]), t.TempDir()); err == nil {
			t.Errorf("the first %d bytes are taken for the whole", n)
		}
	}
	b[148] ^= 1 // the sum of the first header
	if err := Unpack(bytes.NewReader(b), t.TempDir()); err == nil {
		t.Error("a damaged header is taken")
	}
}

func FuzzUnpack(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o600); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := Pack(&b, dir, Options{}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		outer := t.TempDir()
		into := filepath.Join(outer, "into")
		if err := os.Mkdir(into, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = Unpack(bytes.NewReader(b), into)
		if left, err := os.ReadDir(outer); err != nil || len(left) != 1 {
			t.Fatalf("there is %v beside the folder, %v", left, err)
		}
	})
}

var fixed = time.Unix(1_000_000_000, 0)

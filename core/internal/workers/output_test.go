package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const capped = "has reached its cap of 64 MiB"

func logged(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file is filled to its cap exactly, then says so, and takes no more. The
// other pipe's file has its own cap.
func TestOutput_Keep_UpToTheCapAndNoFurther(t *testing.T) {
	dir := t.TempDir()
	o := &Output{dir: dir, pid: 7}
	o.out[0].written = maxLogFile - 5
	o.keep(0, []byte("123"))
	o.keep(0, []byte("45"))
	if got := logged(t, dir, "worker-7.out"); got != "12345" {
		t.Fatalf("up to the cap: %q", got)
	}
	if o.out[0].full || o.out[0].written != maxLogFile {
		t.Fatalf("%d bytes, full %v", o.out[0].written, o.out[0].full)
	}
	o.keep(0, []byte("6"))
	o.keep(0, []byte("7"))
	if got := logged(t, dir, "worker-7.out"); !strings.HasPrefix(got, "12345\n[") || strings.Count(got, capped) != 1 || strings.Contains(got, "6") && strings.Contains(got, "7\n") {
		t.Errorf("beyond the cap: %q", got)
	}
	if !o.out[0].full || o.out[0].file != nil {
		t.Error("a full file stays open")
	}
	o.keep(1, []byte("error"))
	if got := logged(t, dir, "worker-7.err"); got != "error" {
		t.Errorf("the other file has %q", got)
	}
	o.out[1].file.Close()
}

func TestOutput_Keep_CutsWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	o := &Output{dir: dir, pid: 8}
	o.out[1].written = maxLogFile - 3
	o.keep(1, []byte("abcdef"))
	if got := logged(t, dir, "worker-8.err"); !strings.HasPrefix(got, "abc\n[eagleray") || !strings.Contains(got, capped) {
		t.Errorf("got %q", got)
	}
}

func TestOutput_Keep_NoFolder_GivesUpForGood(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	o := &Output{dir: dir, pid: 9}
	o.keep(0, []byte("x"))
	if !o.out[0].full || o.out[0].file != nil {
		t.Fatal("a file that cannot be made is tried again with each line")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.keep(0, []byte("y"))
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the file begins in the middle: %v", left)
	}
}

// What a worker writes before its process id is known comes first, up to a bound.
func TestOutput_SetPid_WhatCameEarlierIsKept(t *testing.T) {
	dir := t.TempDir()
	o := &Output{dir: dir}
	for i := range o.out {
		o.out[i].splitter.latest = &o.name
	}
	o.got(0, []byte("early\n"))
	o.got(1, []byte("error\n"))
	for range 3 {
		o.got(0, []byte(strings.Repeat("x", maxLine)))
	}
	o.SetPid(5)
	o.SetPid(6) // the first one names the files
	if within := o.got(0, []byte("late\nand")); !within {
		t.Error("an unfinished line is said to be finished")
	}
	out, errs := logged(t, dir, "worker-5.out"), logged(t, dir, "worker-5.err")
	if !strings.HasPrefix(out, "early\nxxx") || !strings.HasSuffix(out, "xlate\nand") || errs != "error\n" {
		t.Errorf("got %q… and %q", out[:10], errs)
	}
	if len(out) > 3*maxLine {
		t.Errorf("%d bytes are kept from before the process id was known", len(out))
	}
	for i := range o.out {
		o.out[i].file.Close()
	}
}

// When a pipe has ended its file is closed, its last line is kept, and nothing is
// written any more; the output is over with the second pipe.
func TestOutput_Ended_FilesAreClosed(t *testing.T) {
	dir := t.TempDir()
	o := &Output{dir: dir, open: 2, done: make(chan struct{})}
	for i := range o.out {
		o.out[i].splitter.latest = &o.name
	}
	o.SetPid(5)
	o.got(0, []byte("out\nlast"))
	o.got(1, []byte("err\n"))
	files := []*os.File{o.out[0].file, o.out[1].file}
	for i, file := range files {
		select {
		case <-o.done:
			t.Fatal("it is over while a pipe is open")
		default:
		}
		o.ended(i)
		if err := file.Close(); err == nil {
			t.Errorf("file %d was open", i)
		}
		o.keep(i, []byte("more"))
		if !o.out[i].full || o.out[i].file != nil {
			t.Errorf("pipe %d: %+v", i, &o.out[i])
		}
	}
	<-o.done
	if out, errs := logged(t, dir, "worker-5.out"), logged(t, dir, "worker-5.err"); out != "out\nlast" || errs != "err\n" {
		t.Errorf("got %q and %q", out, errs)
	}
}

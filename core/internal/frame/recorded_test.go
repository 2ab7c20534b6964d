package frame

import (
	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// recorded reads the frames that were recorded before this package existed;
// TestFrames_OnTheTaskSockets_AreTheRecordedBytes of core/internal/client compares what
// a session writes with them.
func recorded(tb testing.TB) map[string][]byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/recorded.txt")
	if err != nil {
		tb.Fatal(err)
	}
	frames := map[string][]byte{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		name, digits, _ := strings.Cut(line, " ")
		if frames[name], err = hex.DecodeString(digits); err != nil {
			tb.Fatal(err)
		}
	}
	return frames
}

// The recorded frames say what they were recorded of, and that is encoded as they are.
func TestFrames_Recorded_AreReadAndWrittenByteForByte(t *testing.T) {
	self, job := ids.Owner{1, 2, 3}, ids.JobOf(7)
	fid := []byte("0123456789abcdef")
	home := wire.AddressOf(self)
	own := func(count uint64) ids.Object { return ids.NewObject(count, self, job, 1) }
	inline := Place{Envelope: []byte("inline")}
	stored := Place{ID: own(2), Size: 1 << 40, Owner: home}
	foreign := Place{ID: ids.NewObject(4, ids.Owner{9}, ids.JobOf(8), 2), Size: 200, Owner: wire.AddressOf(ids.Owner{9})}
	args := Place{Envelope: []byte("arguments")}
	call := func(seq uint32, template, first uint64, deps ...Place) Task {
		return Task{Seq: seq, Template: template, First: first, Args: args, Deps: deps}
	}
	function := Template{ID: 300, FID: fid, Name: "f", Returns: 2, MaxCalls: -1}
	withBlob := func(blob []byte) Template {
		t := function
		t.Blob = blob
		return t
	}
	more := func(t Task) Task {
		t.More = true
		return t
	}
	value := func(text string) whole {
		env := append([]byte{0x94, 1, 3, 0xc4, byte(len(text))}, text...)
		return whole{Result: Result{Envelope: append(env, 0x90)}}
	}
	inside := value("references inside")
	inside.Contained = 2
	inside.Inside = []reference{{own(8), home}, {ids.NewObject(5, ids.Owner{8}, ids.JobOf(8), 1), ""}}
	large := stored
	references := call(1<<32-1, 300, 20, inline, stored, Place{ID: own(3), Owner: home}, foreign)
	references.Args = large

	frames := recorded(t)
	for name, want := range map[string]message{
		"template-function":       {Op: wire.OpTemplate, Template: withBlob([]byte("code"))},
		"template-known-function": {Op: wire.OpTemplate, Template: function},
		"template-code-elsewhere": {Op: wire.OpTemplate, Template: withBlob([]byte{})},
		"template-method":         {Op: wire.OpTemplate, Template: Template{ID: 5, Kind: KindMethod, FID: []byte{}, Name: "A.m", Method: "m", Returns: 1, Group: "io"}},
		"template-generator": {Op: wire.OpTemplate, Template: Template{ID: 70000, FID: fid, Name: strings.Repeat("g", 40), Returns: 1, MaxCalls: 9, Once: true,
			Flow: Flow{Mode: FlowStream, Each: 2, Limit: 3, Counted: true}}},
		"task":                    {Op: wire.OpTask, Task: call(7, 300, 20)},
		"task-references":         {Op: wire.OpTask, Task: references},
		"task-too-large-together": {Op: wire.OpTask, Task: call(7, 300, 20, Place{Envelope: []byte("x")}, Place{ID: own(5), Owner: home})},
		"task-again":              {Op: wire.OpTask, Task: more(call(7, 300, 1)), Had: map[int]bool{1: true}},
		"task-generator":          {Op: wire.OpTask, Task: more(call(7, 70000, 20)), Resume: &Resume{Have: 3, Taken: 1}},
		"task-generator-left":     {Op: wire.OpTask, Task: more(call(7, 70000, 20)), Resume: &Resume{Have: 3, Taken: All, Quit: true}},
		"task-generator-again":    {Op: wire.OpTask, Task: more(call(7, 70000, 3)), Resume: &Resume{Have: All, Taken: All, Lost: []uint64{1, 2}}},
		"forget":                  {Op: wire.OpForget, Number: 300},
		"taken":                   {Op: wire.OpTaken, Seq: 500, Number: 2},
		"quit":                    {Op: wire.OpQuit, Seq: 12},
		"reply":                   {Op: wire.OpReply, Reply: Reply{Seq: 3, Micros: 1500, Results: 2}, Results: []whole{value("value"), inside}},
		"reply-held":              {Op: wire.OpReply, Reply: Reply{Seq: 3, Flags: wire.ReplyHeld, Micros: 1500, Held: 300, Results: 2}, Results: []whole{value("value"), inside}},
		"reply-flags": {Op: wire.OpReply, Reply: Reply{Seq: 300, Flags: wire.ReplyAppError | wire.ReplyLastItem, Item: 2000, Results: 2},
			Results: []whole{value("value"), {Result: Result{Place: wire.PlaceHad}}}},
		"reply-empty":     {Op: wire.OpReply, Reply: Reply{Seq: 300, Flags: wire.ReplyCancelled, Micros: 1 << 40}},
		"reply-stored":    {Op: wire.OpReply, Reply: Reply{Seq: 9, Micros: 20, Results: 1}, Results: []whole{{Result: Result{Place: wire.PlaceStore, Size: 204809}}}},
		"item":            {Op: wire.OpItem, Item: Item{Seq: 8}, Results: []whole{value("value")}},
		"item-references": {Op: wire.OpItem, Item: Item{Seq: 8, Index: 1 << 20, Flags: wire.ReplyHeld, Held: 1}, Results: []whole{inside}},
		"returned":        {Op: wire.OpReturned, Seqs: []uint32{5, 70000}},
		"blocked":         {Op: wire.OpBlocked},
		"unblocked":       {Op: wire.OpUnblocked},
		"hold":            {Op: wire.OpHold, Group: "io", Held: true},
		"hold-no-more":    {Op: wire.OpHold},
		"lost":            {Op: wire.OpLost, Seq: 6, Lost: []int{0, 3, 200}},
	} {
		b := frames[name]
		delete(frames, name)
		if len(b) < headBytes {
			t.Errorf("%s was not recorded", name)
			continue
		}
		if got, err := read(b[headBytes:], want.Resume != nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\nis read as %+v\nwant       %+v", name, err, got, want)
		}
		if got := want.appendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("%s: written %x\nrecorded %x", name, got, b)
		}
	}
	// An actor's constructor is two frames, and the answer with a fault holds an envelope that core/internal/client makes.
	ops := map[string][]wire.Op{"constructor": {wire.OpTemplate, wire.OpTask}, "reply-fault": {wire.OpReply}}
	for name, want := range ops {
		var got []wire.Op
		used, err := Each(frames[name], func(f []byte) error {
			m, err := read(f, false)
			got = append(got, m.Op)
			return err
		})
		if err != nil || used != len(frames[name]) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %d of %d bytes, %v", name, got, used, len(frames[name]), err)
		}
		delete(frames, name)
	}
	pointer := Pointer{ID: own(9), Owner: home, Size: 1 << 33, Brief: []byte("short")}
	if b := AppendPointer(nil, &pointer); !bytes.Equal(b, frames["exception-pointer"]) {
		t.Errorf("an exception's pointer is written as %x, recorded as %x", b, frames["exception-pointer"])
	}
	delete(frames, "exception-pointer")
	for name := range frames {
		t.Errorf("%s was recorded, and is not compared", name)
	}
}

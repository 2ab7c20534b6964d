package pulls

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A node may speak of objects only whose owners are on the right node.
func TestHandle_WhatMakesNoSense_IsRefused(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	peer, err := b.Control(1)
	if err != nil {
		t.Fatal(err)
	}
	mine, yours := b.id(), a.id()
	many := make([]linkmsg.ObjectVersion, linkmsg.MaxObjects+1)
	for i := range many {
		many[i].ID = yours
	}
	for what, x := range map[string]struct {
		t    wire.Type
		body any
		want string
	}{
		"made of its own":      {linkmsg.TObjectNews, linkmsg.ObjectNews{What: linkmsg.ObjectMade, List: []linkmsg.ObjectVersion{{ID: mine, Version: 1}}}, "its owner is on node 2"},
		"frees another's":      {linkmsg.TObjectNews, linkmsg.ObjectNews{What: linkmsg.ObjectFree, List: []linkmsg.ObjectVersion{{ID: yours}}}, "its owner is on node 1"},
		"promotes another's":   {linkmsg.TObjectNews, linkmsg.ObjectNews{What: linkmsg.ObjectPromote, List: []linkmsg.ObjectVersion{{ID: yours, Version: 1}}}, "its owner is on node 1"},
		"asks the wrong node":  {linkmsg.TObjectAsk, linkmsg.ObjectAsk{What: linkmsg.ObjectThere, List: []linkmsg.ObjectVersion{{ID: mine}}}, "its owner is on node 2"},
		"an unknown event":     {linkmsg.TObjectNews, linkmsg.ObjectNews{What: "eaten", List: []linkmsg.ObjectVersion{{ID: yours}}}, `"eaten" means nothing`},
		"an unknown question":  {linkmsg.TObjectAsk, linkmsg.ObjectAsk{What: "why", List: []linkmsg.ObjectVersion{{ID: yours}}}, `"why" about objects means nothing`},
		"where is nothing":     {linkmsg.TObjectAsk, linkmsg.ObjectAsk{What: linkmsg.ObjectWhere}, "names 0 objects"},
		"failed with many":     {linkmsg.TObjectAsk, linkmsg.ObjectAsk{What: linkmsg.ObjectWhere, List: many[:1], Failed: make([]linkmsg.HolderFailure, linkmsg.MaxHolders+1)}, "names 5 nodes, at most 4"},
		"too many":             {linkmsg.TObjectAsk, linkmsg.ObjectAsk{What: linkmsg.ObjectThere, List: many}, "names 10001 objects, at most 10000"},
		"no message of theirs": {wire.TCensus, nil, "is not about objects"},
		"no body":              {linkmsg.TObjectAsk, "x", "message type 231"},
	} {
		err := peer.Call(t.Context(), x.t, x.body, nil)
		if x.t == linkmsg.TObjectNews || fault.CodeOf(err) == fault.BadRequest && strings.Contains(err.Error(), x.want) {
			continue // news have no answer
		}
		t.Errorf("%s: got %v, want %q", what, err, x.want)
	}
	b.handled(1)
	w.locked(func() {
		var all []string
		for _, err := range a.refused {
			all = append(all, err.Error())
		}
		text := strings.Join(all, "\n")
		for _, want := range []string{"from node 2", "its owner is on node 1", "its owner is on node 2", "means nothing"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not said in\n%s", want, text)
			}
		}
	})
	a.empty()
	b.empty()
}

// What is asked on a bulk connection must be well formed, and lie within the object.
func TestServe_WhatMakesNoSense_EndsOrIsAnswered(t *testing.T) {
	w := newWorld(t, 80*mib, 1, 2)
	a, b := w.nodes[1], w.nodes[2]
	id := a.id()
	a.put(&process{}, id, 1000)
	c := &process{}
	b.get(c, id, 1000) // node 1 has an entry from now on
	var version uint64
	a.locked(func() { version = a.p.held[id].version })
	good := request{kind: askChunk, id: id, version: version, off: 10, n: 900}
	ask := func(b []byte) (says byte, body []byte) {
		here, there := net.Pipe()
		go a.p.Serve(2, there)
		defer here.Close()
		go func() { _, _ = here.Write(b) }() // the other end may close before it has read all
		var h [headSize]byte
		if _, err := io.ReadFull(here, h[:]); err != nil {
			return 0, nil
		}
		body = make([]byte, binary.LittleEndian.Uint32(h[4:]))
		_, _ = io.ReadFull(here, body)
		return h[0], body
	}
	if says, body := ask(good.append(nil)); says != saysChunk || !bytes.Equal(body, data(id, 1000)[10:910]) {
		t.Errorf("a good request is answered by %d", says)
	}
	change := func(f func(*request)) []byte {
		q := good
		f(&q)
		return q.append(nil)
	}
	for what, x := range map[string]struct {
		b    []byte
		says byte
		text string
	}{
		"another version":   {change(func(q *request) { q.version++ }), saysAbsent, ""},
		"another object":    {change(func(q *request) { q.id = b.id() }), saysAbsent, ""},
		"behind the end":    {change(func(q *request) { q.off = 101 }), saysFailed, "900 bytes at 101 of 1000"},
		"far behind":        {change(func(q *request) { q.off = 1<<64 - 5 }), saysFailed, "of 1000"},
		"nothing":           {change(func(q *request) { q.n = 0 }), 0, ""},
		"too much":          {change(func(q *request) { q.n = chunkSize + 1 }), 0, ""},
		"another kind":      {change(func(q *request) { q.kind = 9 }), 0, ""},
		"a release of much": {change(func(q *request) { q.kind = askRelease }), 0, ""},
		"a changed byte":    {append(good.append(nil)[:20], append([]byte{1}, good.append(nil)[21:]...)...), 0, ""},
		"another protocol":  {append([]byte("GET / HTTP/1.1\r\n"), make([]byte, 100)...), 0, ""},
	} {
		if says, body := ask(x.b); says != x.says || !strings.Contains(string(body), x.text) {
			t.Errorf("%s: answer %d %q, want %d %q", what, says, body, x.says, x.text)
		}
	}
	// A release lets go of what was read.
	here, there := net.Pipe()
	defer here.Close()
	go a.p.Serve(2, there)
	if _, err := here.Write(good.append(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(here, make([]byte, headSize+900+sumSize)); err != nil {
		t.Fatal(err)
	}
	pins := func() (n int) {
		a.locked(func() {
			for s := range a.p.servers {
				if s.conn == there && s.pinned {
					n++
				}
			}
		})
		return n
	}
	if pins() != 1 {
		t.Errorf("%d objects are held while one is read", pins())
	}
	release := request{kind: askRelease, id: id, version: version}
	if _, err := here.Write(append(release.append(nil), change(func(q *request) { q.version++ })...)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(here, make([]byte, headSize)); err != nil || pins() != 0 {
		t.Errorf("%d objects are held after a release, %v", pins(), err)
	}
	b.unpin(c, id)
}

// FuzzServe gives anything to the end of a bulk connection that serves.
func FuzzServe(f *testing.F) {
	q := request{kind: askChunk, id: ids.Object{1}, version: 1, n: 5}
	f.Add(q.append(nil))
	f.Add(append(q.append(nil), q.append(nil)...))
	f.Add([]byte("ErB1"))
	w := newWorld(f, 80*mib, 1)
	n := w.nodes[1]
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			n.p.Serve(2, there)
		}()
		go func() { _, _ = io.Copy(io.Discard, here) }()
		_, _ = here.Write(b)
		here.Close()
		<-done
	})
}

// FuzzAnswer gives anything to the end of a bulk connection that reads. It never writes outside of the chunk.
func FuzzAnswer(f *testing.F) {
	f.Add(appendHead(nil, saysAbsent, 0))
	f.Add(append(appendHead(nil, saysFailed, 3), "abc"...))
	f.Add(append(appendHead(nil, saysChunk, 5), "abcde1234"...))
	f.Add(append(appendHead(nil, saysPacked, 5), "\x05\x00\x00\x00abcde1234"...))
	f.Add(append(append(appendHead(nil, saysPacked, 5), "\x04\x00\x00\x00"...), 5, 0, 'a', 0))
	w := newWorld(f, 80*mib, 1)
	n := w.nodes[1]
	c := &process{}
	id := n.id()
	at, err := n.create(c, id, 3*4096)
	if err != nil {
		f.Fatal(err)
	}
	r := room{arena: &n.p.arena, at: objects.Place{Off: at.Off + 4096}}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := r.answer(bytes.NewReader(b), &request{kind: askChunk, off: 0, n: 5})
		all, failed := n.arena.Slice(at.Off, 3*4096)
		if failed != nil {
			t.Fatal(failed)
		}
		for i, x := range all {
			if x != 0 && (i < 4096 || i >= 4096+5) {
				t.Fatalf("byte %d was written", i)
			}
		}
		if err == nil && (b[0] != saysChunk && b[0] != saysPacked && b[0] != saysWait || len(b) < headSize+5+sumSize) {
			t.Error("that was no chunk")
		}
	})
}

// What a holder says besides chunks is an error that names it.
func TestAnswer_NotAChunk_IsAnError(t *testing.T) {
	q := &request{kind: askChunk, n: 5}
	for what, x := range map[string]struct {
		b    []byte
		is   error
		text string
	}{
		"absent":         {appendHead(nil, saysAbsent, 0), errAbsent, ""},
		"a reason":       {append(appendHead(nil, saysFailed, 3), "abc"...), nil, `"abc"`},
		"too long":       {appendHead(nil, saysFailed, maxText+1), errFormat, ""},
		"another length": {appendHead(nil, saysChunk, 6), errFormat, "with 6 bytes to a request for 5"},
		"waits with one": {appendHead(nil, saysWait, 1), errFormat, "kind 4"},
		"waits, then no": {appendHead(appendHead(nil, saysWait, 0), saysAbsent, 0), errAbsent, ""},
		"nonsense":       {appendHead(nil, 7, 0), errFormat, "kind 7"},
		"the end":        {nil, io.EOF, ""},
		"half a reason":  {append(appendHead(nil, saysFailed, 3), 'a'), io.ErrUnexpectedEOF, ""},
	} {
		err := room{}.answer(bytes.NewReader(x.b), q)
		if err == nil || x.is != nil && !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

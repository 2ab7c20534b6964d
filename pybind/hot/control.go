//go:build eagleray_hot

package main

// #include <stdlib.h>
// #include <string.h>
// #include "hot.h"
import "C"

import (
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/binding"
	"github.com/eagleray/eagleray/core/ids"
)

// The calls that are not hot: msgpack in, msgpack out (malloc).

func blob(p unsafe.Pointer, n C.int64_t) []byte { return C.GoBytes(p, C.int(n)) }

func out(b []byte, p *unsafe.Pointer, n *C.int64_t) C.int {
	*p, *n = C.CBytes(b), C.int64_t(len(b))
	return ok
}

//export HotConnect
func HotConnect(p unsafe.Pointer, n C.int64_t, o *unsafe.Pointer, on *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	b, err := binding.Connect(blob(p, n))
	if err != nil {
		return give(err, e)
	}
	return out(b, o, on)
}

//export HotDisconnect
func HotDisconnect(ms C.int64_t) {
	var e C.hot_err
	var r C.int
	defer guard(&e, &r)
	binding.Disconnect(time.Duration(ms) * time.Millisecond)
}

//export HotConnected
func HotConnected() C.int {
	if c := binding.Current(); c != nil && c.Err() == nil {
		return 1
	}
	return 0
}

//export HotRPC
func HotRPC(method *C.char, p unsafe.Pointer, n, ms C.int64_t, o *unsafe.Pointer, on *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	b, err := binding.RPC(c, C.GoString(method), blob(p, n), millis(ms))
	if err != nil {
		return give(err, e)
	}
	return out(b, o, on)
}

//export HotTemplate
func HotTemplate(p unsafe.Pointer, n C.int64_t, id *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	t, err := binding.ParseTemplate(blob(p, n))
	if err != nil {
		return give(err, e)
	}
	i, err := c.NewTemplate(t)
	if err != nil {
		return give(err, e)
	}
	*id = C.int64_t(i)
	return ok
}

//export HotActorCreate
func HotActorCreate(p unsafe.Pointer, n C.int64_t, k *C.hot_call, actor, token *C.uchar, meta *unsafe.Pointer, metaN *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	s, err := binding.ParseActor(blob(p, n))
	if err != nil {
		return give(err, e)
	}
	args := valueOf(&k.args)
	id, existing, err := c.NewActor(s, &args, objectIDs(k.deps, k.ndeps))
	if err != nil {
		return give(err, e)
	}
	if existing != nil {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(actor)), 16), existing.ActorID)
		out(existing.Meta, meta, metaN)
		return nothing
	}
	tok := c.ActorTokenID(id)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(actor)), 16), id[:])
	copy(unsafe.Slice((*byte)(unsafe.Pointer(token)), 28), tok[:])
	return ok
}

//export HotActorOpen
func HotActorOpen(actor *C.uchar, tokenStr *C.char, name *C.char, limit C.int64_t, site C.uint32_t, token *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	tok, err := c.OpenActor(actorID(actor), C.GoString(tokenStr), C.GoString(name), int(limit), uint32(site))
	if err != nil {
		return give(err, e)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(token)), 28), tok[:])
	return ok
}

//export HotActorClose
func HotActorClose(actor *C.uchar) {
	if c := binding.Current(); c != nil {
		c.CloseActor(actorID(actor))
	}
}

//export HotActorToken
func HotActorToken(actor *C.uchar) *C.char {
	c := binding.Current()
	if c == nil {
		return C.CString("")
	}
	return C.CString(c.ActorToken(actorID(actor)))
}

//export HotActorKill
func HotActorKill(actor *C.uchar, noRestart C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err == nil {
		err = c.KillActor(actorID(actor), noRestart != 0)
	}
	if err != nil {
		return give(err, e)
	}
	return ok
}

//export HotImport
func HotImport(id *C.uchar, addr *C.char, site C.uint32_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err == nil {
		err = c.Import(objectID(id), C.GoString(addr), uint32(site))
	}
	if err != nil {
		return give(err, e)
	}
	return ok
}

//export HotExport
func HotExport(id *C.uchar, addr **C.char, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	a, err := c.Export(objectID(id))
	if err != nil {
		return give(err, e)
	}
	*addr = C.CString(a)
	return ok
}

//export HotCancel
func HotCancel(id *C.uchar, force, recursive C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err == nil {
		err = c.Cancel(objectID(id), force != 0, recursive != 0)
	}
	if err != nil {
		return give(err, e)
	}
	return ok
}

//export HotForget
func HotForget(fid *C.char, n C.int64_t) {
	if c := binding.Current(); c != nil {
		c.Forget(blob(unsafe.Pointer(fid), n))
	}
}

//export HotRetire
func HotRetire(id C.int64_t) {
	if c := binding.Current(); c != nil {
		c.Retire(int(id))
	}
}

//export HotUnload
func HotUnload(fid *C.uchar) {
	if c := binding.Current(); c != nil {
		c.Unload([16]byte(unsafe.Slice((*byte)(unsafe.Pointer(fid)), 16)))
	}
}

//export HotLastCalls
func HotLastCalls(token C.uint64_t, ms C.int64_t) C.int {
	if c := binding.Current(); c != nil && !c.LastCalls(uint64(token), millis(ms)) {
		return nothing
	}
	return ok
}

//export HotFlushOnExit
func HotFlushOnExit() {
	if c := binding.Current(); c != nil {
		c.FlushOnExit()
	}
}

//export HotNextEvent
func HotNextEvent(ms C.int64_t, o *unsafe.Pointer, on *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	b := binding.NextEvent(millis(ms))
	if b == nil {
		return nothing
	}
	return out(b, o, on)
}

//export HotAsyncFD
func HotAsyncFD(e *C.hot_err) C.int {
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	return C.int(c.AsyncFD())
}

//export HotAsyncWatch
func HotAsyncWatch(id *C.uchar, token C.uint64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	ready, err := c.AsyncWatch(objectID(id), uint64(token))
	if err != nil {
		return give(err, e)
	}
	if ready {
		return 1
	}
	return 0
}

//export HotAsyncDrain
func HotAsyncDrain(o *unsafe.Pointer, n *C.int64_t) {
	c := binding.Current()
	if c == nil {
		return
	}
	t := c.AsyncDrain()
	*n = C.int64_t(len(t))
	if len(t) > 0 {
		*o = C.CBytes(unsafe.Slice((*byte)(unsafe.Pointer(&t[0])), 8*len(t)))
	}
}

//export HotActorReady
func HotActorReady(token C.uint64_t, good C.int, message *C.char, p unsafe.Pointer, n C.int64_t, brief unsafe.Pointer, briefN C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err == nil {
		err = c.ActorReady(uint64(token), good != 0, C.GoString(message), blob(p, n), blob(brief, briefN))
	}
	if err != nil {
		return give(err, e)
	}
	return ok
}

//export HotExiting
func HotExiting(reason *C.char) {
	if c := binding.Current(); c != nil {
		_ = c.Exiting(C.GoString(reason))
	}
}

//export HotCancelled
func HotCancelled(task *C.uchar) C.int {
	c := binding.Current()
	if c == nil {
		return 0
	}
	id, yes := c.CurrentCancelled()
	if !yes {
		return 0
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(task)), 24), id[:])
	return 1
}

// HotMayBegin says whether a call that the program has taken may begin now: of an exclusive actor, while the cluster counts on its node.
//
//export HotMayBegin
func HotMayBegin() C.long {
	if c := binding.Current(); c == nil || c.MayBegin() {
		return 1 // without a session every call fails by itself
	}
	return 0
}

//export HotIsCancelled
func HotIsCancelled(task *C.uchar) C.long {
	c := binding.Current()
	if c == nil {
		return 0
	}
	var id ids.Task
	copy(id[:], unsafe.Slice((*byte)(unsafe.Pointer(task)), len(id)))
	if c.Cancelled(id) {
		return 1
	}
	return 0
}

var _ binding.Options

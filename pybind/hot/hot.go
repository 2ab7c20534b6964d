//go:build eagleray_hot

package main

// #include <stdlib.h>
// #include <string.h>
// #include "hot.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/eagleray/eagleray/core/binding"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Results of the exported functions.
const (
	ok      = 0
	nothing = 1 // timed out, or not ready
	failed  = -1
)

func current() (*binding.Client, error) {
	if c := binding.Current(); c != nil {
		return c, nil
	}
	return nil, fault.New(fault.Closed, "there is no session: call init() first")
}

// give hands an error to the C side.
func give(err error, out *C.hot_err) C.int {
	f := fault.From(err)
	out.code = C.CString(string(f.Code))
	out.message = C.CString(f.Message)
	return failed
}

// guard turns a panic into an error: the process belongs to the user.
func guard(out *C.hot_err, r *C.int) {
	if p := recover(); p != nil {
		buf := make([]byte, 4096)
		buf = buf[:runtime.Stack(buf, false)]
		*r = give(fault.New(fault.Internal, "panic in the core: %v\n%s", p, buf), out)
	}
}

func objectID(p *C.uchar) (id ids.Object) {
	copy(id[:], unsafe.Slice((*byte)(unsafe.Pointer(p)), len(id)))
	return id
}

func objectIDs(p *C.uchar, n C.int64_t) []ids.Object {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*ids.Object)(unsafe.Pointer(p)), int(n))
}

func bytesOf(b *C.hot_buf) []byte { return unsafe.Slice((*byte)(b.p), int(b.n)) }

func valueOf(v *C.hot_value) binding.Value {
	out := binding.Value{Fmt: uint8(v.fmt), Meta: bytesOf(&v.meta), Nested: objectIDs(v.nested, v.nnested), Site: uint32(v.site)}
	if v.nbufs > 0 {
		in := unsafe.Slice(v.bufs, int(v.nbufs))
		out.Bufs = make([][]byte, len(in))
		for i := range in {
			out.Bufs[i] = bytesOf(&in[i])
		}
	}
	return out
}

func found(f *binding.Found, out *C.hot_found) {
	out.n = C.int64_t(len(f.Envelope))
	out.view = C.uint64_t(f.View)
	if len(f.Envelope) > 0 {
		out.env = C.uintptr_t(uintptr(unsafe.Pointer(&f.Envelope[0])))
	}
}

func millis(ms C.int64_t) time.Duration {
	if ms < 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func takeDrops() []binding.Drop {
	if atomic.LoadInt32((*int32)(unsafe.Pointer(&C.hot_drop_count))) == 0 {
		return nil
	}
	var p *C.hot_drop
	n := C.hot_take_drops(&p)
	out := make([]binding.Drop, int(n))
	for i, d := range unsafe.Slice(p, int(n)) {
		out[i] = binding.Drop{Object: objectID(&d.id[0]), View: uint64(d.view)}
	}
	return out
}

func init() {
	binding.Hooks = binding.Options{
		Drops:      takeDrops,
		Interrupt:  func() { C.hot_interrupt() },
		BootTime:   func() time.Duration { return time.Duration(C.hot_boot_ns()) },
		Signals:    func() bool { return C.hot_signals() != 0 },
		Exit:       func(code int) { syscall.Exit(code) },
		Site:       siteText,
		Background: lendThread,
		Rest:       func() { C.hot_trim() },
		Descriptor: func(fd int, open bool) {
			flag := C.int(0)
			if open {
				flag = 1
			}
			C.hot_descriptor(C.int(fd), flag)
		},
	}
}

//export HotDropsWaiting
func HotDropsWaiting() {
	if c := binding.Current(); c != nil {
		c.DropsWaiting()
		return
	}
	binding.DropOrphans(takeDrops())
}

//export HotSubmit
func HotSubmit(k *C.hot_call, actor *C.uchar, first *C.uchar, returns *C.int32_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	call := binding.Call{Template: int(k.tmpl), Args: valueOf(&k.args), Deps: objectIDs(k.deps, k.ndeps), Parent: uint64(k.parent)}
	var id ids.Object
	var n int
	if actor == nil {
		id, n, err = c.Submit(&call)
	} else {
		id, n, err = c.CallActor(actorID(actor), &call)
	}
	if err != nil {
		return give(err, e)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(first)), len(id)), id[:])
	*returns = C.int32_t(n)
	return ok
}

func actorID(p *C.uchar) (id ids.Actor) {
	copy(id[:], unsafe.Slice((*byte)(unsafe.Pointer(p)), len(id)))
	return id
}

//export HotPut
func HotPut(v *C.hot_value, id *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	val := valueOf(v)
	got, err := c.Put(&val)
	if err != nil {
		return give(err, e)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(id)), len(got)), got[:])
	return ok
}

//export HotTryGet
func HotTryGet(id *C.uchar, out *C.hot_found, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	f, err := c.TryGet(objectID(id))
	if err != nil {
		return give(err, e)
	}
	if f.Envelope == nil {
		return nothing
	}
	binding.Lend(&f)
	found(&f, out)
	return ok
}

//export HotGet
func HotGet(id *C.uchar, ms C.int64_t, out *C.hot_found, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	f, err := c.Get(objectID(id), millis(ms))
	if err != nil {
		return give(err, e)
	}
	if f == nil {
		return nothing
	}
	binding.Lend(f)
	found(f, out)
	return ok
}

//export HotWait
func HotWait(list *C.uchar, n, need, ms C.int64_t, how C.int, ready *C.char, infeasible *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	marks := unsafe.Slice((*byte)(unsafe.Pointer(ready)), int(n))
	mode := binding.WaitSome
	switch how {
	case C.HOT_WAIT_ALL:
		mode = binding.WaitAll
	case C.HOT_WAIT_HERE:
		mode = binding.WaitHere
	}
	h, done, err := c.Wait(objectIDs(list, n), int(need), millis(ms), mode, func(i int, ready bool) {
		marks[i] = 0
		if ready {
			marks[i] = 1
		}
	})
	if err != nil {
		return give(err, e)
	}
	*infeasible = C.int64_t(h)
	if !done {
		return nothing
	}
	return ok
}

// HotSelectNow returns 1 when what it found is all that can be said now.
//
//export HotSelectNow
func HotSelectNow(list **C.uchar, n, need C.int64_t, here C.int, pick *C.uint32_t, got *C.int64_t) (sure C.int64_t) {
	defer func() {
		if recover() != nil {
			sure = 0 // HotSelect will tell
		}
	}()
	c, err := current()
	if err != nil {
		return 0
	}
	found, all := c.SelectNow(idsAt(list, n), int(need), here != 0, picks(pick, need))
	*got = C.int64_t(found)
	if all {
		return 1
	}
	return 0
}

//export HotSelect
func HotSelect(list **C.uchar, n, need, ms C.int64_t, here C.int, pick *C.uint32_t, got *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	found, done, err := c.Select(idsAt(list, n), int(need), millis(ms), here != 0, picks(pick, need))
	if err != nil {
		return give(err, e)
	}
	*got = C.int64_t(found)
	if !done {
		return nothing
	}
	return ok
}

// HotTryGetAll tells what is at hand; of the others n is -1. Keep is to be given back
// when none of it is looked at any more.
//
//export HotTryGetAll
func HotTryGetAll(list **C.uchar, n C.int64_t, out *C.hot_found, keep *C.uint64_t, missing *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	all := unsafe.Slice(out, int(n))
	for i := range all {
		all[i].n = -1
	}
	kept, lacks, err := c.TryGetAll(idsAt(list, n), func(i int, f *binding.Found) { found(f, &all[i]) })
	if err != nil {
		return give(err, e)
	}
	*keep, *missing = C.uint64_t(kept), C.int64_t(lacks)
	return ok
}

// idsAt are the ids of references, where they lie.
func idsAt(list **C.uchar, n C.int64_t) []*ids.Object {
	return unsafe.Slice((**ids.Object)(unsafe.Pointer(list)), int(n))
}

func picks(p *C.uint32_t, n C.int64_t) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(p)), int(n))
}

//export HotNextTask
func HotNextTask(ms C.int64_t, group *C.char, groupN C.int64_t, out *C.hot_item, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	it, err := c.NextTask(millis(ms), C.GoStringN(group, C.int(groupN)))
	if err != nil {
		return give(err, e)
	}
	if it == nil {
		return nothing
	}
	fillItem(it, out)
	return ok
}

// fillItem hands an item to the C side.
func fillItem(it *binding.Item, out *C.hot_item) {
	out.kind, out.token, out.returns = C.int32_t(it.Kind), C.uint64_t(it.Token), C.int32_t(it.Returns)
	if t := it.Tmpl; t != nil {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out.fid[0])), 16), t.FID[:])
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&out.task[0])), 24), it.TaskID[:])
		out.max_calls = C.int64_t(t.MaxCalls)
		out.name, out.name_n = stringAt(t.Name)
		out.method, out.method_n = stringAt(t.Method)
	}
	found(&it.Args, &out.args)
	if n := len(it.Deps); n > 0 {
		p := (*C.hot_found)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(C.hot_found{}))))
		for i, d := range it.Deps {
			found(&d, &unsafe.Slice(p, n)[i])
		}
		out.deps, out.ndeps = p, C.int64_t(n)
	}
	blob := it.Blob
	switch it.Kind {
	case binding.ItemActor:
		blob = binding.ActorItem(it.Actor, it.Tmpl)
	case binding.ItemExit:
		blob = []byte(it.Reason)
	}
	if blob != nil {
		out.blob, out.blob_n = C.CBytes(blob), C.int64_t(len(blob))
	}
}

func stringAt(s string) (C.uintptr_t, C.int64_t) {
	if s == "" {
		return 0, 0
	}
	return C.uintptr_t(uintptr(unsafe.Pointer(unsafe.StringData(s)))), C.int64_t(len(s))
}

//export HotFunction
func HotFunction(fid *C.uchar, p *C.uintptr_t, n *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	var f [16]byte
	copy(f[:], unsafe.Slice((*byte)(unsafe.Pointer(fid)), 16))
	b, err := c.Function(f) // which is kept until the program, whose lock we hold, unloads it
	if err != nil {
		return give(err, e)
	}
	*n = C.int64_t(len(b))
	if len(b) > 0 {
		*p = C.uintptr_t(uintptr(unsafe.Pointer(&b[0])))
	}
	return ok
}

//export HotReply
func HotReply(token C.uint64_t, values *C.hot_value, n C.int64_t, flags C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	var one [1]binding.Value
	vals := one[:0]
	if n > 1 {
		vals = make([]binding.Value, 0, int(n))
	}
	in := unsafe.Slice(values, int(n))
	for i := range in {
		vals = append(vals, valueOf(&in[i]))
	}
	if err := c.Reply(uint64(token), vals, int(flags)); err != nil {
		return give(err, e)
	}
	return ok
}

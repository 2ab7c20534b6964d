//go:build eagleray_hot

package main

// #include <stdlib.h>
// #include "hot.h"
import "C"

import (
	"unsafe"

	"github.com/eagleray/eagleray/core/ids"
)

func giveID(id ids.Object, out *C.uchar) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(out)), len(id)), id[:])
}

//export HotStreamNext
func HotStreamNext(gen *C.uchar, ms C.int64_t, id *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	got, st, err := c.NextItem(objectID(gen), millis(ms))
	if err != nil {
		return give(err, e)
	}
	giveID(got, id)
	return C.int(st)
}

//export HotStreamPeek
func HotStreamPeek(gen *C.uchar, id *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	got, err := c.PeekItem(objectID(gen))
	if err != nil {
		return give(err, e)
	}
	giveID(got, id)
	return ok
}

//export HotStreamAhead
func HotStreamAhead(gen *C.uchar, n C.int64_t, id *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	got, err := c.AheadItem(objectID(gen), int(n))
	if err != nil {
		return give(err, e)
	}
	giveID(got, id)
	return ok
}

//export HotStreamState
func HotStreamState(gen *C.uchar, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	st, err := c.Stream(objectID(gen))
	if err != nil {
		return give(err, e)
	}
	return C.int(st)
}

//export HotFeedItem
func HotFeedItem(token C.uint64_t, v *C.hot_value, flags C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	val := valueOf(v)
	st, err := c.FeedItem(uint64(token), &val, int(flags))
	if err != nil {
		return give(err, e)
	}
	return C.int(st)
}

//export HotFeedRoom
func HotFeedRoom(token C.uint64_t, ms C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	st, err := c.FeedRoom(uint64(token), millis(ms))
	if err != nil {
		return give(err, e)
	}
	return C.int(st)
}

//export HotFeedWatch
func HotFeedWatch(token, notify C.uint64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	st, err := c.FeedWatch(uint64(token), uint64(notify))
	if err != nil {
		return give(err, e)
	}
	return C.int(st)
}

//export HotFeedOwner
func HotFeedOwner(token C.uint64_t, addr **C.char, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	a, err := c.FeedOwner(uint64(token))
	if err != nil {
		return give(err, e)
	}
	*addr = C.CString(a)
	return ok
}

//export HotFeedRaises
func HotFeedRaises(token C.uint64_t, item *C.uint64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	n, err := c.FeedRaises(uint64(token))
	if err != nil {
		return give(err, e)
	}
	*item = C.uint64_t(n)
	return ok
}

//export HotFeedLimit
func HotFeedLimit(n C.uint64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	c.LimitFeeds(uint64(n))
	return ok
}

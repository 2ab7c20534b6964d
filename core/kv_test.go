package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

func TestKV_GetPutSwapDelete(t *testing.T) {
	ctx, s := join(t, opts)
	kv := s.KV()
	if _, _, err := kv.Get(ctx, "kv/a"); !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), `key "kv/a"`) {
		t.Errorf("a key that is not there: %v", err)
	}
	first := must[uint64](t)(kv.CompareAndSwap(ctx, "kv/a", 0, []byte("1")))
	var conflict *core.ConflictError
	if _, err := kv.CompareAndSwap(ctx, "kv/a", 0, []byte("2")); !errors.Is(err, core.ErrVersionConflict) || !errors.As(err, &conflict) || *conflict != (core.ConflictError{Key: "kv/a", Present: first}) {
		t.Errorf("a key that is there: %v", err)
	}
	second := must[uint64](t)(kv.CompareAndSwap(ctx, "kv/a", first, []byte("2")))
	if _, err := kv.CompareAndSwap(ctx, "kv/a", first, []byte("3")); !errors.As(err, &conflict) || conflict.Present != second || core.CodeOf(err) != "version_conflict" {
		t.Errorf("an old version: %v", err)
	}
	if v, version, err := kv.Get(ctx, "kv/a"); string(v) != "2" || version != second || err != nil {
		t.Errorf("got %q, version %d, %v", v, version, err)
	}
	empty := must[uint64](t)(kv.Put(ctx, "kv/b", nil))
	list, err := kv.List(ctx, "kv/")
	want := []core.KVPair{{Key: "kv/a", Value: []byte("2"), Version: second}, {Key: "kv/b", Value: []byte{}, Version: empty}}
	if err != nil || !reflect.DeepEqual(list.Pairs, want) {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if err := kv.CompareAndDelete(ctx, "kv/a", first); !errors.As(err, &conflict) || conflict.Present != second {
		t.Errorf("delete an old version: %v", err)
	}
	if err := errors.Join(kv.CompareAndDelete(ctx, "kv/a", second), kv.Delete(ctx, "kv/b"), kv.Delete(ctx, "kv/b")); err != nil {
		t.Error(err)
	}
	if again := must[uint64](t)(kv.CompareAndSwap(ctx, "kv/a", 0, nil)); again <= second {
		t.Errorf("a key that was made again has version %d after %d", again, second)
	}
	if err := kv.Delete(ctx, "kv/a"); err != nil {
		t.Error(err)
	}
}

// What is not allowed is refused before it travels, with what to do.
func TestKV_WrongArguments_SayWhatToDo(t *testing.T) {
	ctx, s := join(t, opts)
	kv := s.KV()
	put := func(key string, n int) error {
		_, err := kv.Put(ctx, key, make([]byte, n))
		return err
	}
	lease := func(ttl time.Duration) error {
		_, err := kv.Lease(ctx, ttl)
		return err
	}
	_, _, long := kv.Get(ctx, strings.Repeat("k", 1025))
	ended, end := context.WithCancel(ctx)
	end()
	_, late := kv.Put(ended, "kv/a", nil)
	for _, c := range []struct {
		err   error
		is    error
		words string
	}{
		{put("", 1), core.ErrInvalid, "the key is empty"},
		{put("\xff", 1), core.ErrInvalid, "is not UTF-8"},
		{put("kv/a", 64<<10+1), core.ErrTooLarge, "65537 bytes, at most 65536"},
		{long, core.ErrTooLarge, "1025 bytes, at most 1024"},
		{kv.CompareAndDelete(ctx, "kv/a", 0), core.ErrInvalid, "use Delete"},
		{lease(time.Millisecond), core.ErrInvalid, "from 1s to 1h"},
		{lease(2 * time.Hour), core.ErrInvalid, "from 1s to 1h"},
		{late, context.Canceled, `put key "kv/a"`},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.words) || errors.Is(c.err, core.ErrMayHaveBeenApplied) {
			t.Errorf("got %v, want %q", c.err, c.words)
		}
	}
}

// Many goroutines count in one key: each swap that succeeds counts once.
func TestKV_ManySwap_NoneIsLost(t *testing.T) {
	ctx, s := join(t, opts)
	kv := s.KV()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := 0; done < 10; {
				v, version, err := kv.Get(ctx, "kv/count")
				if err != nil && !errors.Is(err, core.ErrNotFound) {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(v))
				_, err = kv.CompareAndSwap(ctx, "kv/count", version, []byte(strconv.Itoa(n+1)))
				switch {
				case err == nil:
					done++
				case !errors.Is(err, core.ErrVersionConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if v, _, err := kv.Get(ctx, "kv/count"); string(v) != "80" {
		t.Errorf("counted %q, %v", v, err)
	}
	if err := kv.Delete(ctx, "kv/count"); err != nil {
		t.Error(err)
	}
}

// A watch gives each change after its place in order, and one that is behind what the cluster keeps is told so.
func TestKV_Watch_InOrderOrCompacted(t *testing.T) {
	ctx, s := join(t, opts)
	kv := s.KV()
	list := must[core.KVList](t)(kv.List(ctx, "kv/w/"))
	type seen struct {
		key, value string
		deleted    bool
	}
	var want, got []seen
	var all sync.WaitGroup
	all.Go(func() {
		for change, err := range kv.Watch(ctx, "kv/w/", list.Seq) {
			if err != nil {
				t.Error(err)
				return
			}
			got = append(got, seen{change.Key, string(change.Value), change.Deleted})
			if change.Key == "kv/w/end" {
				return
			}
		}
	})
	for i := range 40 {
		key := fmt.Sprint("kv/w/", i%3)
		must[uint64](t)(kv.Put(ctx, key, []byte(strconv.Itoa(i))))
		must[uint64](t)(kv.Put(ctx, "kv/other", nil))
		want = append(want, seen{key, strconv.Itoa(i), false})
		if i%7 == 0 {
			if err := kv.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			want = append(want, seen{key, "", true})
		}
	}
	must[uint64](t)(kv.Put(ctx, "kv/w/end", nil))
	want = append(want, seen{"kv/w/end", "", false})
	all.Wait()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the watch has seen %v\nwant %v", got, want)
	}
	large := make([]byte, 64<<10)
	for range 70 { // more than 4 MiB
		must[uint64](t)(kv.Put(ctx, "kv/large", large))
	}
	for _, err := range kv.Watch(ctx, "kv/w/", list.Seq) {
		if !errors.Is(err, core.ErrCompacted) || core.CodeOf(err) != "compacted" || !strings.Contains(err.Error(), "list the keys anew") {
			t.Errorf("behind what is kept: %v", err)
		}
	}
	ending, end := context.WithCancel(ctx)
	now := must[core.KVList](t)(kv.List(ctx, "kv/"))
	time.AfterFunc(20*time.Millisecond, end)
	for change, err := range kv.Watch(ending, "kv/", now.Seq) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after its context: %+v, %v", change, err)
		}
	}
	for _, p := range now.Pairs {
		if err := kv.Delete(ctx, p.Key); err != nil {
			t.Error(err)
		}
	}
}

// awaitGone waits until a key is deleted, and returns the change.
func awaitGone(t *testing.T, ctx context.Context, kv *core.KV, key string, from uint64) core.KVChange {
	t.Helper()
	for change, err := range kv.Watch(ctx, key, from) {
		if err != nil {
			t.Fatal(err)
		}
		if change.Deleted {
			return change
		}
	}
	return core.KVChange{}
}

// Keys of a lease vanish when it is ended, and when its session is closed. Another program sees that, and a lease that lives is kept.
func TestKVLease_EndOrClose_KeysVanish(t *testing.T) {
	ctx, s := join(t, opts)
	_, other := join(t, opts)
	at := must[core.KVList](t)(other.KV().List(ctx, "kv/lease/")).Seq
	kept := must[*core.KVLease](t)(s.KV().Lease(ctx, 2*time.Second))
	ended := must[*core.KVLease](t)(s.KV().Lease(ctx, time.Minute))
	must[uint64](t)(kept.Put(ctx, "kv/lease/kept", []byte("k")))
	must[uint64](t)(ended.CompareAndSwap(ctx, "kv/lease/ended", 0, []byte("e")))
	begun := time.Now()
	for time.Since(begun) < 4*time.Second { // longer than its time: it is kept all the while
		if _, _, err := other.KV().Get(ctx, "kv/lease/kept"); err != nil || kept.Err() != nil {
			t.Fatalf("after %v: %v, %v", time.Since(begun), err, kept.Err())
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := ended.End(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-ended.Lost():
	default:
		t.Error("the holder is not told")
	}
	if err := ended.Err(); !errors.Is(err, core.ErrLeaseLost) || !strings.Contains(err.Error(), "the program has ended it") {
		t.Errorf("got %v", err)
	}
	if _, err := ended.Put(ctx, "kv/lease/late", nil); !errors.Is(err, core.ErrLeaseLost) {
		t.Errorf("a key of a lease that was ended: %v", err)
	}
	if c := awaitGone(t, ctx, other.KV(), "kv/lease/ended", at); !c.Expired {
		t.Errorf("got %+v", c)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-kept.Lost()
	if c := awaitGone(t, ctx, other.KV(), "kv/lease/kept", at); !c.Expired {
		t.Errorf("got %+v", c)
	}
	if _, err := s.KV().Lease(ctx, time.Minute); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a lease of a session that is closed: %v", err)
	}
}

// A head that does not answer confirms no lease. Its holder is told by its own clock, when four fifths of the time have passed and no later than the whole
// time, and the cluster ends the lease when the head goes on.
func TestKVLease_HeadIsStopped_HolderIsToldInTime(t *testing.T) {
	o := cluster(t)
	ctx, s := join(t, o)
	_, other := join(t, o)
	at := must[core.KVList](t)(other.KV().List(ctx, "")).Seq
	const ttl = 5 * time.Second
	lease := must[*core.KVLease](t)(s.KV().Lease(ctx, ttl))
	must[uint64](t)(lease.Put(ctx, "a", nil))
	pid := servingHead(t, ctx, o.Address, 0)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	select {
	case <-lease.Lost():
	case <-ctx.Done():
		t.Fatal("the holder is never told")
	}
	// The last word that was confirmed was sent a fifth of the time before at most, or it was on its way.
	if after := time.Since(stopped); after < ttl/2 || after > ttl {
		t.Errorf("the holder was told after %v", after)
	}
	if err := lease.Err(); !errors.Is(err, core.ErrLeaseLost) || !strings.Contains(err.Error(), "has not confirmed it for 4s of its 5s") {
		t.Errorf("got %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := s.KV().Put(short, "b", nil); !errors.Is(err, core.ErrMayHaveBeenApplied) || !errors.Is(err, context.DeadlineExceeded) || core.CodeOf(err) != "may_have_been_applied" {
		t.Errorf("a change without an answer: %v", err)
	}
	if _, _, err := s.KV().Get(short, "b"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, core.ErrMayHaveBeenApplied) {
		t.Errorf("a read without an answer: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if c := awaitGone(t, ctx, other.KV(), "a", at); !c.Expired {
		t.Errorf("got %+v", c)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.KV().Put(ctx, "c", nil); !errors.Is(err, core.ErrClosed) || errors.Is(err, core.ErrMayHaveBeenApplied) {
		t.Errorf("a change in a session that is closed: %v", err)
	}
}

// headPid returns the process of the head of a session, 0 while its file is being written.
func headPid(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "head.pid"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return 0
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// servingHead waits until there is another head than the one before, and returns its process. A head writes its file when it serves.
func servingHead(t *testing.T, ctx context.Context, dir string, before int) int {
	t.Helper()
	for {
		if pid := headPid(t, dir); pid != 0 && pid != before {
			return pid
		}
		if ctx.Err() != nil {
			t.Fatal("no other head has been started")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitCount waits until 20 more changes have been made.
func awaitCount(t *testing.T, ctx context.Context, kv *core.KV) {
	t.Helper()
	n := 0
	for _, err := range kv.Watch(ctx, "n/count", must[core.KVList](t)(kv.List(ctx, "n/")).Seq) {
		if n++; err != nil {
			t.Fatal(err)
		}
		if n == 20 {
			return
		}
	}
}

// goesOn has one program write, another watch, and a third hold a lease, while disturb does its work. Each change is made once and seen once, in
// order, and the lease goes on.
func goesOn(t *testing.T, ctx context.Context, writer, watcher, holder *core.KV, disturb func()) {
	t.Helper()
	lease := must[*core.KVLease](t)(holder.Lease(ctx, 15*time.Second))
	token := must[uint64](t)(lease.CompareAndSwap(ctx, "leader", 0, []byte("me")))
	at := must[core.KVList](t)(watcher.List(ctx, "n/")).Seq

	stop := make(chan struct{})
	var all sync.WaitGroup
	written := 0
	all.Go(func() {
		for version := uint64(0); ; written++ {
			select {
			case <-stop:
				must[uint64](t)(writer.Put(ctx, "n/end", nil))
				return
			default:
			}
			var err error
			if version, err = writer.CompareAndSwap(ctx, "n/count", version, []byte(strconv.Itoa(written+1))); err != nil {
				t.Errorf("change %d: %v", written+1, err)
				_, _ = writer.Put(ctx, "n/end", nil)
				return
			}
		}
	})
	seen := 0
	all.Go(func() {
		for change, err := range watcher.Watch(ctx, "n/", at) {
			if err != nil {
				t.Errorf("after %d changes: %v", seen, err)
				return
			}
			if change.Key == "n/end" {
				return
			}
			if string(change.Value) != strconv.Itoa(seen+1) {
				t.Errorf("change %d has the value %q", seen+1, change.Value)
			}
			seen++
		}
	})
	disturb()
	close(stop)
	all.Wait()
	if seen != written || written < 20 {
		t.Errorf("%d changes were made and %d seen", written, seen)
	}
	if _, version, err := writer.Get(ctx, "leader"); err != nil || version != token || lease.Err() != nil {
		t.Errorf("the key of the lease has version %d, was %d, %v, %v", version, token, err, lease.Err())
	}
	t.Logf("%d changes", written)
}

// The head is killed and started again by its warden, five times.
func TestKV_HeadIsKilled_WatchAndLeaseGoOn(t *testing.T) {
	o := cluster(t)
	ctx, s := join(t, o)
	_, watcher := join(t, o)
	_, holder := join(t, o)
	goesOn(t, ctx, s.KV(), watcher.KV(), holder.KV(), func() {
		for range 5 {
			pid := servingHead(t, ctx, o.Address, 0)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			servingHead(t, ctx, o.Address, pid)
			awaitCount(t, ctx, s.KV())
		}
	})
}

package play

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// says has the worker say something to the daemon, through its own connection.
// The line is "call TYPE BODY" or "push TYPE BODY".
func (w *worker) says(verb, rest string) string {
	var t wire.Type
	var text string
	if _, err := fmt.Sscan(rest, &t, &text); err != nil {
		return "bad line: " + err.Error()
	}
	body, err := hex.DecodeString(text)
	if err != nil {
		return err.Error()
	}
	if verb == "push" {
		err = w.peer.Push(t, msgpack.RawMessage(body))
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), Limit)
		defer cancel()
		err = w.peer.Call(ctx, t, msgpack.RawMessage(body), nil)
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return string(f.Code) + ": " + strings.ReplaceAll(f.Message, "\n", " ")
	}
	return fmt.Sprint(err)
}

// scribble writes noise through every descriptor that takes it, the socket to
// the daemon excepted, and tries to change the arena's size.
func (w *worker) scribble() string {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<16)
	written := 0
	for fd := 3; fd <= w.arena; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		for at := int64(0); at < st.Size; at += int64(len(noise)) {
			for i := 0; i < len(noise); i += 8 {
				n := rng.Uint64()
				for j := range 8 {
					noise[i+j] = byte(n >> (8 * j))
				}
			}
			_, _ = unix.Pwrite(fd, noise, at)
		}
		if unix.Ftruncate(fd, 0) == nil || unix.Ftruncate(fd, st.Size*2) == nil {
			return "the arena's size could be changed"
		}
		if b, err := unix.Mmap(fd, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			copy(b, noise)
			_ = unix.Munmap(b)
		}
		written++
	}
	if written == 0 {
		return "there was nothing to write to"
	}
	return "ok"
}

// chatter sends random bodies of every message type for a while.
func (w *worker) chatter(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		t := wire.Type(10 + rng.IntN(70))
		if t == wire.TWorkerExit || t == wire.TActorKill {
			continue // it may end itself, and kill actors
		}
		_ = w.peer.Push(t, randomBody(rng, 0))
	}
	return "ok"
}

func randomBody(rng *rand.Rand, depth int) any {
	switch rng.IntN(8) {
	case 0:
		return nil
	case 1:
		return rng.Uint64() >> rng.IntN(64)
	case 2:
		return -rng.Int64N(math.MaxInt64)
	case 3:
		b := make([]byte, []int{0, 4, 12, 16, 28, 28, 100}[rng.IntN(7)])
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	case 4:
		return []string{"", "default", "CPU", "x", strings.Repeat("y", 300)}[rng.IntN(5)]
	case 5:
		return map[string]any{"CPU": rng.Int64(), "y": -rng.Int64()}
	}
	if depth > 3 {
		return true
	}
	list := make([]any, rng.IntN(10))
	for i := range list {
		list[i] = randomBody(rng, depth+1)
	}
	return list
}

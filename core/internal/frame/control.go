package frame

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// AppendAssign writes the frame that tells a worker what its lease gives. The
// assignment is a msgpack map, which only the worker's program reads.
func AppendAssign(b, assignment []byte) []byte {
	b, at := begin(b, wire.OpAssign, 2)
	return End(wire.AppendBin(b, assignment), at)
}

// ReadAssign reads what follows the kind of that frame.
func ReadAssign(r *wire.Reader) (assignment []byte, err error) {
	assignment = r.Bin()
	return assignment, r.Err()
}

// AppendTaken writes how many items of a generator its caller's program has
// taken in all; All: the generator need not wait for the program any more.
func AppendTaken(b []byte, seq uint32, n uint64) []byte {
	b, at := begin(b, wire.OpTaken, 3)
	b = wire.AppendUint(b, uint64(seq))
	return End(wire.AppendUint(b, n), at)
}

// ReadTaken reads what follows the kind of that frame.
func ReadTaken(r *wire.Reader) (seq uint32, n uint64, err error) {
	seq, n = readSeq(r), r.Uint()
	return seq, n, r.Err()
}

// AppendQuit writes that nobody wants more of a generator's items.
func AppendQuit(b []byte, seq uint32) []byte {
	b, at := begin(b, wire.OpQuit, 2)
	return End(wire.AppendUint(b, uint64(seq)), at)
}

// ReadQuit reads what follows the kind of that frame.
func ReadQuit(r *wire.Reader) (seq uint32, err error) {
	seq = readSeq(r)
	return seq, r.Err()
}

// AppendWakeup writes what waking two processes costs here, in microseconds.
func AppendWakeup(b []byte, us uint64) []byte {
	b, at := begin(b, wire.OpWakeup, 2)
	return End(wire.AppendUint(b, us), at)
}

// ReadWakeup reads what follows the kind of that frame.
func ReadWakeup(r *wire.Reader) (us uint64, err error) {
	us = r.Uint()
	return us, r.Err()
}

// BeginReturned opens the frame that gives n calls back that have not begun.
// AppendSeq follows n times, and End.
func BeginReturned(b []byte, n int) (out []byte, at int) {
	b, at = begin(b, wire.OpReturned, 2)
	return wire.AppendArray(b, n), at
}

// AppendSeq writes the sequence number of a call within a frame.
func AppendSeq(b []byte, seq uint32) []byte { return wire.AppendUint(b, uint64(seq)) }

// ReadReturned reads what follows the kind of that frame. It copies the
// sequence numbers, so that a malformed frame gives no calls back.
func ReadReturned(r *wire.Reader) (seqs []uint32, err error) {
	for range r.Array() {
		seq := readSeq(r)
		if err := r.Err(); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, r.Err()
}

// AppendBlocked writes that the worker's running task waits for objects, so
// that its caller sends nothing more, or that it goes on.
func AppendBlocked(b []byte, blocked bool) []byte {
	op := wire.OpUnblocked
	if blocked {
		op = wire.OpBlocked
	}
	b, at := begin(b, op, 1)
	return End(b, at)
}

// AppendHold writes that an actor takes no more calls of a concurrency group
// for now, or that it takes them again.
func AppendHold(b []byte, group string, held bool) []byte {
	b, at := begin(b, wire.OpHold, 3)
	b = wire.AppendStr(b, group)
	return End(wire.AppendUint(b, flag(held)), at)
}

// ReadHold reads what follows the kind of that frame.
func ReadHold(r *wire.Reader) (group string, held bool, err error) {
	group, held = r.Str(), r.UintTo(1) == 1
	return group, held, r.Err()
}

// AppendLost writes that a call comes back because something that it takes is
// lost: 0 stands for its arguments, i for its i-th reference.
func AppendLost(b []byte, seq uint32, lost []int) []byte {
	b, at := begin(b, wire.OpLost, 3)
	b = wire.AppendUint(b, uint64(seq))
	b = wire.AppendArray(b, len(lost))
	for _, i := range lost {
		b = wire.AppendUint(b, uint64(i))
	}
	return End(b, at)
}

// ReadLost reads what follows the kind of that frame.
func ReadLost(r *wire.Reader) (seq uint32, lost []int, err error) {
	seq = readSeq(r)
	n := r.Array()
	if n > MaxReferences+1 {
		return seq, nil, fmt.Errorf("%w: %d arguments of call %d are lost, at most %d can be", wire.ErrBadFrame, n, seq, MaxReferences+1)
	}
	for range n {
		lost = append(lost, int(r.UintTo(MaxReferences)))
	}
	return seq, lost, r.Err()
}

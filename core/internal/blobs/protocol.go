package blobs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/patient"
	"github.com/eagleray/eagleray/core/record"
)

// What a head asks of another one.
const (
	askKeep = 1 // keep this value; the asker has its bytes
	askGet  = 2 // send this value
)

// How the other one answers.
const (
	sayRefused = 1 // with a text
	saySend    = 2 // send the bytes
	sayHave    = 3 // it is on the disk
	sayComes   = 4 // the bytes follow
	sayMissing = 5 // it does not have the value, or only a damaged file
	sayFull    = 6 // its disk is full; with a text
)

const (
	magic       = 0x4552424c // "ERBL"
	requestSize = 4 + 1 + sha256.Size + 4 + 8
	answerSize  = 4 + 1 + 4
	maxText     = 1024
	block       = 256 << 10
)

// Magic are the first bytes of each question, by which a head tells it from other questions on bulk connections.
var Magic = [4]byte(binary.BigEndian.AppendUint32(nil, magic))

// stall is how long an end waits for the next bytes of the other one: every conversation is on a patient connection.
const stall = 20 * time.Second

// errMissing says that a head does not have a value.
var errMissing = errors.New("the head does not have this large value")

type request struct {
	what byte
	blob record.HeldBlob // without a ticket in a question for a value
}

func (q *request) write(c net.Conn) error {
	b := make([]byte, 0, requestSize)
	b = binary.BigEndian.AppendUint32(b, magic)
	b = append(b, q.what)
	b = append(b, q.blob.Blob.Hash[:]...)
	b = binary.BigEndian.AppendUint32(b, q.blob.Blob.Size)
	return send(c, append(b, q.blob.Ticket[:]...))
}

func readRequest(c net.Conn) (q request, err error) {
	var b [requestSize]byte
	if err := receive(c, b[:]); err != nil {
		return q, err
	}
	q.what = b[4]
	copy(q.blob.Blob.Hash[:], b[5:])
	q.blob.Blob.Size = binary.BigEndian.Uint32(b[5+sha256.Size:])
	copy(q.blob.Ticket[:], b[requestSize-len(q.blob.Ticket):])
	if binary.BigEndian.Uint32(b[:]) != magic || q.what != askKeep && q.what != askGet {
		return q, errors.New("this is no question for a large value")
	}
	return q, q.blob.Blob.Check()
}

// answer writes what is said. The number is the size of what follows.
func answer(c net.Conn, what byte, n int, text string) error {
	b := make([]byte, 0, answerSize+len(text))
	b = binary.BigEndian.AppendUint32(b, magic)
	b = append(b, what)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return send(c, append(b, text...))
}

// refuse says why not.
func refuse(c net.Conn, why error) error {
	if errors.Is(why, errMissing) {
		return answer(c, sayMissing, 0, "")
	}
	what := byte(sayRefused)
	if fault.CodeOf(why) == fault.OutOfDisk {
		what = sayFull
	}
	text := why.Error()
	text = text[:min(len(text), maxText)]
	return answer(c, what, len(text), text)
}

// readAnswer reads what is said. A refusal is an error.
func readAnswer(c net.Conn) (what byte, n int, err error) {
	var b [answerSize]byte
	if err := receive(c, b[:]); err != nil {
		return 0, 0, err
	}
	what, n = b[4], int(binary.BigEndian.Uint32(b[5:]))
	if binary.BigEndian.Uint32(b[:]) != magic || n > record.MaxBlobBytes {
		return 0, 0, errors.New("this is no answer about a large value")
	}
	switch what {
	case sayMissing:
		return what, n, errMissing
	case sayRefused, sayFull:
		if n > maxText {
			return 0, 0, errors.New("this is no answer about a large value")
		}
		text := make([]byte, n)
		if err := receive(c, text); err != nil {
			return 0, 0, err
		}
		if what == sayFull {
			return what, 0, fault.New(fault.OutOfDisk, "%s", text)
		}
		return what, 0, fmt.Errorf("the head refuses: %s", text)
	}
	return what, n, nil
}

// offer has a head keep a value.
func offer(c net.Conn, x record.HeldBlob, value []byte) error {
	if err := (&request{askKeep, x}).write(c); err != nil {
		return err
	}
	what, _, err := readAnswer(c)
	if err == nil && what == saySend {
		if err = sendBlocks(c, value); err == nil {
			what, _, err = readAnswer(c)
		}
	}
	if err == nil && what != sayHave {
		err = errors.New("this is no answer about a large value")
	}
	return err
}

// ask has a head send a value, whose bytes follow.
func ask(c net.Conn, b record.Blob) error {
	if err := (&request{askGet, record.HeldBlob{Blob: b}}).write(c); err != nil {
		return err
	}
	what, n, err := readAnswer(c)
	if err == nil && (what != sayComes || n != int(b.Size)) {
		err = errors.New("this is no answer about a large value")
	}
	return err
}

// Serve answers one question of another head. The caller closes the connection.
func (s *Store) Serve(from uint32, c net.Conn) {
	c = patient.New(c, stall)
	q, err := readRequest(c)
	if err == nil {
		switch {
		case !s.o.Others.Has(from):
			err = errors.New("only a head of the cluster may ask for large values")
		case q.what == askKeep:
			err = s.serveKeep(c, q.blob)
		default:
			err = s.serveGet(c, q.blob.Blob)
		}
	}
	if err != nil {
		if !errors.Is(err, errMissing) {
			s.o.Log.Warn("a question about a large value failed", "from", from, "value", q.blob.Blob.Hash, "error", err)
		}
		_ = refuse(c, err)
	}
}

// serveKeep takes a value. The ticket is noted first, so that a file which is here already stays.
func (s *Store) serveKeep(c net.Conn, x record.HeldBlob) error {
	err := s.begin(x)
	if err != nil {
		return err
	}
	here := false
	if s.has(x.Blob) {
		if _, unreadable := s.local(x.Blob); unreadable == nil {
			here, err = true, s.syncFolder()
		}
	}
	if !here {
		if err = answer(c, saySend, 0, ""); err == nil {
			err = s.install(x.Blob, func(w io.Writer) error { return receiveTo(c, w, x.Blob.Size) })
		}
	}
	if err != nil {
		s.drop(x.Ticket)
		return err
	}
	return answer(c, sayHave, 0, "")
}

// serveGet sends a value, if it is here and right. A file that cannot be read just now is a refusal: the value is not lost.
func (s *Store) serveGet(c net.Conn, b record.Blob) error {
	data, err := s.local(b)
	if err != nil {
		if gone(err) {
			return errMissing
		}
		return err
	}
	if err := answer(c, sayComes, len(data), ""); err != nil {
		return err
	}
	return sendBlocks(c, data)
}

// sendBlocks sends a value in blocks, of which each has to move in time.
func sendBlocks(c net.Conn, value []byte) error {
	for rest := value; len(rest) > 0; rest = rest[min(block, len(rest)):] {
		if err := send(c, rest[:min(block, len(rest))]); err != nil {
			return err
		}
	}
	return nil
}

// receiveTo passes on so many bytes.
func receiveTo(c net.Conn, w io.Writer, size uint32) error {
	b := make([]byte, min(block, size))
	for left := int(size); left > 0; {
		part := b[:min(left, len(b))]
		if err := receive(c, part); err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		left -= len(part)
	}
	return nil
}

func send(c net.Conn, b []byte) error {
	_, err := c.Write(b)
	return err
}

func receive(c net.Conn, b []byte) error {
	_, err := io.ReadFull(c, b)
	return err
}

package packages

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/archive"
)

// Hash names a package: the SHA-256 of its bytes.
type Hash [sha256.Size]byte

// String returns the hash as hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads the hexadecimal digits of a hash.
func ParseHash(s string) (h Hash, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("%.100q is no hash of a package", s)
	}
	copy(h[:], b)
	return h, nil
}

// What a node asks of the head.
const (
	askKeep = 1 // keep this package for a job; the node has its bytes
	askGet  = 2 // send this package
)

// What a head asks of another one, which does not pass the question on.
const (
	askStore = 3 // as askKeep
	askFetch = 4 // as askGet
	askList  = 5 // say which packages are there and which jobs use them; of one package if the request names it
)

// How the head answers.
const (
	sayRefused = 1 // with a text
	saySend    = 2 // send the bytes
	sayHave    = 3 // it has the package, and keeps it
	sayComes   = 4 // the bytes follow
	sayWait    = 5 // another answer follows; the other heads are being asked
	sayLater   = 6 // with a text: it cannot be done now
	sayList    = 7 // so many entries follow
)

const (
	magic       = 0x45525047 // "ERPG"
	requestSize = 4 + 1 + ids.JobSize + sha256.Size + 8
	answerSize  = 4 + 1 + 8
	maxText     = 4096
	entrySize   = sha256.Size + ids.JobSize
	maxEntries  = 16 * maxKept
	block       = 256 << 10
)

// stall is how long an end waits for the next bytes of the other one: every conversation is on a patient connection.
const stall = 30 * time.Second

// ErrMissing says that the head does not have a package.
var ErrMissing = errors.New("the head does not have this package")

// request is what a node asks.
type request struct {
	what byte
	job  ids.Job
	hash Hash
	size int64 // of a package that is to be kept
}

func (q *request) write(c net.Conn) error {
	b := make([]byte, 0, requestSize)
	b = binary.BigEndian.AppendUint32(b, magic)
	b = append(b, q.what)
	b = append(b, q.job[:]...)
	b = append(b, q.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(q.size))
	return send(c, b)
}

func readRequest(c net.Conn) (q request, err error) {
	var b [requestSize]byte
	if err := receive(c, b[:]); err != nil {
		return q, err
	}
	q.what = b[4]
	copy(q.job[:], b[5:])
	copy(q.hash[:], b[5+ids.JobSize:])
	q.size = int64(binary.BigEndian.Uint64(b[requestSize-8:]))
	switch {
	case binary.BigEndian.Uint32(b[:]) != magic || q.what < askKeep || q.what > askList:
		return q, errors.New("this is no request for a package")
	case (q.what == askKeep || q.what == askStore) && (q.size <= 0 || q.size > archive.MaxStream):
		return q, fmt.Errorf("a package of %d bytes, at most %d are allowed", q.size, archive.MaxStream)
	}
	return q, nil
}

// answer writes what the head says. The number is the size of a package, or of the text.
func answer(c net.Conn, what byte, n int64, text string) error {
	b := make([]byte, 0, answerSize+len(text))
	b = binary.BigEndian.AppendUint32(b, magic)
	b = append(b, what)
	b = binary.BigEndian.AppendUint64(b, uint64(n))
	return send(c, append(b, text...))
}

// refuse tells whoever asked why not.
func refuse(c net.Conn, why error) error {
	text, what := why.Error(), byte(sayRefused)
	if later := (*laterError)(nil); errors.As(why, &later) {
		text, what = later.text, sayLater
	}
	text = text[:min(len(text), maxText)]
	return answer(c, what, int64(len(text)), text)
}

// laterError says why something cannot be done now. It is tried again.
type laterError struct{ text string }

func (e *laterError) Error() string { return e.text }

// refusedError is the head's reason.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return "the head refuses: " + e.text }

// readAnswer reads what the head says. A refusal is an error. While the head says that it is at it, this waits.
func readAnswer(c net.Conn) (what byte, n int64, err error) {
	var b [answerSize]byte
	for what = sayWait; what == sayWait; {
		if err := receive(c, b[:]); err != nil {
			return 0, 0, err
		}
		what, n = b[4], int64(binary.BigEndian.Uint64(b[5:]))
		if binary.BigEndian.Uint32(b[:]) != magic || n < 0 || n > archive.MaxStream {
			return 0, 0, errors.New("this is no answer about a package")
		}
	}
	if what != sayRefused && what != sayLater {
		return what, n, nil
	}
	if n > maxText {
		return 0, 0, errors.New("this is no answer about a package")
	}
	text := make([]byte, n)
	if err := receive(c, text); err != nil {
		return 0, 0, err
	}
	switch {
	case what == sayLater:
		return what, 0, &laterError{string(text)}
	case string(text) == ErrMissing.Error():
		return what, 0, ErrMissing
	default:
		return what, 0, &refusedError{string(text)}
	}
}

// entry says that a job uses a package.
type entry struct {
	hash Hash
	job  ids.Job
}

// sayEntries writes which jobs use which packages.
func sayEntries(c net.Conn, list []entry) error {
	list = list[:min(len(list), maxEntries)]
	if err := answer(c, sayList, int64(len(list)), ""); err != nil {
		return err
	}
	b := make([]byte, 0, len(list)*entrySize)
	for i := range list {
		b = append(append(b, list[i].hash[:]...), list[i].job[:]...)
	}
	return send(c, b)
}

// readEntries reads what sayEntries writes.
func readEntries(c net.Conn) ([]entry, error) {
	what, n, err := readAnswer(c)
	if err != nil {
		return nil, err
	}
	if what != sayList || n > maxEntries {
		return nil, errors.New("this is no list of packages")
	}
	b := make([]byte, n*entrySize)
	if err := receive(c, b); err != nil {
		return nil, err
	}
	list := make([]entry, n)
	for i := range list {
		copy(list[i].hash[:], b[i*entrySize:])
		copy(list[i].job[:], b[i*entrySize+sha256.Size:])
	}
	return list, nil
}

func send(c net.Conn, b []byte) error {
	_, err := c.Write(b)
	return err
}

func receive(c net.Conn, b []byte) error {
	_, err := io.ReadFull(c, b)
	return err
}

// sendFile sends so many bytes of a file.
func sendFile(c net.Conn, f *os.File, size int64) error {
	b := make([]byte, block)
	for size > 0 {
		n, err := io.ReadFull(f, b[:min(size, block)])
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
		if err := send(c, b[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// receiveFile writes so many bytes to a file, and checks that they are those of the package.
func receiveFile(c net.Conn, f *os.File, size int64, want Hash) error {
	b := make([]byte, block)
	sum := sha256.New()
	for size > 0 {
		part := b[:min(size, block)]
		if err := receive(c, part); err != nil {
			return err
		}
		sum.Write(part)
		if _, err := f.Write(part); err != nil {
			return err
		}
		size -= int64(len(part))
	}
	if hashOf(sum) != want {
		return fmt.Errorf("what came is not package %s: its hash is another one", want)
	}
	return nil
}

func hashOf(sum hash.Hash) (h Hash) {
	sum.Sum(h[:0])
	return h
}

// closedWith closes a connection when a context ends. The function that it returns ends that.
func closedWith(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.Close() })
}

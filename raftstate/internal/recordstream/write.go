package recordstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/raftstate/internal/blocks"
)

const (
	magic      = "eagleray"
	headerSize = len(magic) + 4
	// window is how far back the compressor looks: more costs memory for little.
	window = 1 << 20
)

// Kind numbers the kinds of records. Numbers are never reused.
type Kind uint16

// Format says what a build writes and reads.
type Format struct {
	// Versions has the version of each kind's body, that of End included.
	Versions map[Kind]uint64
	// End is the kind of the last record.
	End Kind
	// MaxRecord caps the bytes of a record.
	MaxRecord int
}

// count is the body of the last record.
type count struct {
	Records uint64 `msgpack:"records"` // before this one
}

// Writer writes records. After the first error it does nothing.
type Writer struct {
	f     Format
	w     io.Writer
	buf   bytes.Buffer // of one record
	enc   *msgpack.Encoder
	count uint64
	err   error
}

// Add writes a record.
func (w *Writer) Add(k Kind, body any) {
	if w.err != nil {
		return
	}
	w.buf.Reset()
	w.buf.Write([]byte{0, 0, 0, 0})
	w.err = errors.Join(w.enc.EncodeUint(uint64(k)), w.enc.EncodeUint(w.f.Versions[k]), w.enc.Encode(body))
	size := w.buf.Len() - 4
	if w.err == nil && size > w.f.MaxRecord {
		w.err = fmt.Errorf("a record of kind %d has %d bytes, and at most %d are allowed", k, size, w.f.MaxRecord)
	}
	if w.err == nil {
		binary.LittleEndian.PutUint32(w.buf.Bytes(), uint32(size))
		_, w.err = w.w.Write(w.buf.Bytes())
	}
	w.count++
}

// Write writes a stream of the layout with the records that fill adds. Equal records give equal bytes.
func (f Format) Write(out io.Writer, layout uint32, fill func(*Writer)) error {
	b, err := blocks.NewWriter(out, binary.LittleEndian.AppendUint32([]byte(magic), layout))
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	err = f.WriteRecords(z, fill)
	if e := z.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return b.Close()
}

// WriteRecords writes the records alone, without header, blocks and compression.
func (f Format) WriteRecords(out io.Writer, fill func(*Writer)) error {
	w := &Writer{f: f, w: out}
	w.enc = msgpack.NewEncoder(&w.buf)
	w.enc.UseCompactInts(true)
	w.enc.SetSortMapKeys(true)
	fill(w)
	w.Add(f.End, &count{w.count})
	return w.err
}

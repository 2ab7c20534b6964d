package recordstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/raftstate/internal/blocks"
)

// MaxMemory caps what the decompressor may take for its window.
const MaxMemory = 64 << 20

var (
	// ErrDamaged: a snapshot is not as it was written.
	ErrDamaged = errors.New("the snapshot of the cluster's state is damaged")
	// ErrNewer: a newer version of Eagle Ray wrote a snapshot.
	ErrNewer = errors.New("a newer version of Eagle Ray wrote the snapshot of the cluster's state. Start this head with that version, or a later one")
)

// Take takes a record's body. Its error says that the record cannot be.
type Take func(k Kind, body *msgpack.Decoder) error

// Read reads a stream of one of the layouts, and gives each record to take, but for the last one.
func (f Format) Read(r io.Reader, layouts []uint32, take Take) error {
	var head [headerSize]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if n < len(head) || string(head[:len(magic)]) != magic {
		return fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	if layout := binary.LittleEndian.Uint32(head[len(magic):]); !slices.Contains(layouts, layout) {
		return fmt.Errorf("%w (its layout has version %d, and this version knows versions up to %d)", ErrNewer, layout, slices.Max(layouts))
	}
	z, err := zstd.NewReader(blocks.NewReader(r, head[:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxMemory))
	if err != nil {
		return err
	}
	defer z.Close()
	err = f.ReadRecords(z, take)
	if damage := (*blocks.Damage)(nil); errors.As(err, &damage) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// reader reads the records of a stream.
type reader struct {
	Format
	take    Take
	records uint64 // that were taken
	ended   bool   // the last one was read
}

// ReadRecords reads what WriteRecords wrote, up to the end of the bytes.
func (f Format) ReadRecords(in io.Reader, take Take) error {
	r := &reader{Format: f, take: take}
	var buf bytes.Buffer
	for {
		var head [4]byte
		switch _, err := io.ReadFull(in, head[:]); {
		case errors.Is(err, io.EOF) && r.ended:
			return nil
		case errors.Is(err, io.EOF):
			return r.damaged("it ends too early")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return r.damaged("it ends within a record")
		case err != nil:
			return err
		}
		size := binary.LittleEndian.Uint32(head[:])
		if uint64(size) > uint64(f.MaxRecord) {
			return r.damaged("a record has %d bytes, and at most %d are allowed", size, f.MaxRecord)
		}
		buf.Reset()
		switch _, err := io.CopyN(&buf, in, int64(size)); {
		case errors.Is(err, io.EOF):
			return r.damaged("it ends within a record")
		case err != nil:
			return err
		}
		if err := r.record(&buf); err != nil {
			return err
		}
	}
}

func (r *reader) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: record %d: %s", ErrDamaged, r.records+1, fmt.Sprintf(format, args...))
}

// record takes one record.
func (r *reader) record(buf *bytes.Buffer) error {
	d := msgpack.NewDecoder(buf)
	kind, err := d.DecodeUint64()
	if err != nil {
		return r.damaged("the kind of a record cannot be read: %v", err)
	}
	version, err := d.DecodeUint64()
	if err != nil {
		return r.damaged("the version of a record of kind %d cannot be read: %v", kind, err)
	}
	known := uint64(0)
	if kind < 1<<16 {
		known = r.Versions[Kind(kind)]
	}
	switch {
	case known == 0:
		return fmt.Errorf("%w (it has a record of kind %d, which this version does not know)", ErrNewer, kind)
	case version > known:
		return fmt.Errorf("%w (it has a record of kind %d in version %d, and this version knows %d)", ErrNewer, kind, version, known)
	}
	if err := r.body(Kind(kind), d); err != nil {
		return r.damaged("a record of kind %d: %v", kind, err)
	}
	if buf.Len() > 0 {
		return r.damaged("a record of kind %d has %d bytes after its end", kind, buf.Len())
	}
	r.records++
	return nil
}

func (r *reader) body(k Kind, d *msgpack.Decoder) error {
	switch {
	case r.ended:
		return errors.New("it comes after the last one")
	case k == r.End:
		return Decode(d, r.end)
	}
	return r.take(k, d)
}

func (r *reader) end(c *count) error {
	if c.Records != r.records {
		return fmt.Errorf("there were %d records, and there are %d", c.Records, r.records)
	}
	r.ended = true
	return nil
}

// Decode decodes a body and hands it on.
func Decode[T any](d *msgpack.Decoder, take func(*T) error) error {
	body := new(T)
	if err := d.Decode(body); err != nil {
		return err
	}
	return take(body)
}

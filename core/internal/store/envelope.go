package store

import (
	"errors"
	"fmt"
)

// ErrBadEnvelope is wrapped by every error of Parse.
var ErrBadEnvelope = errors.New("malformed envelope")

// Format says how an envelope's value is serialised; see docs/hot-api.md.
type Format uint8

// The formats.
const (
	FormatNone        Format = iota // None
	FormatMsgpack                   // a plain value in the metadata
	FormatNDArray                   // an array in one buffer
	FormatPickle                    // Python only
	FormatError                     // a Python exception
	FormatBytes                     // bytes in one buffer
	FormatArgs                      // pickled arguments
	FormatArgsMsgpack               // plain arguments, from Go
	FormatFault                     // a core/fault error in the metadata
	FormatPickleRefs                // pickled, with a table of references in front
	FormatArgsRefs                  // arguments, alike
	FormatElsewhere                 // a Python exception that is the value of another object: its id and its owner's address

	lastFormat = FormatElsewhere
)

// String returns the name that docs/hot-api.md uses.
func (f Format) String() string {
	names := [...]string{"NONE", "MSGPACK", "NDARRAY", "PICKLE", "ERROR", "BYTES", "ARGS", "ARGS_MSGPACK", "FAULT", "PICKLE_REFS", "ARGS_REFS", "ELSEWHERE"}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("format %d", uint8(f))
}

const (
	// envelopeVersion is the first element of the header.
	envelopeVersion = 1
	// bufferAlign is the alignment of each buffer, in bytes.
	bufferAlign = 64
)

// Envelope is a parsed value: Meta and Bufs are views of what was parsed.
type Envelope struct {
	Format Format
	Meta   []byte
	Bufs   [][]byte
}

func alignUp(n int) int { return (n + bufferAlign - 1) &^ (bufferAlign - 1) }

// HeaderSize returns the bytes before the padding in front of the first buffer.
func HeaderSize(metaLen int, bufLens []int) int {
	n := 3 + binHead(metaLen) + metaLen + arrayHead(len(bufLens))
	for _, l := range bufLens {
		n += uintSize(uint64(l))
	}
	return n
}

// Layout returns an envelope's size and where its buffers start, relative to
// the envelope's start. The offsets are appended to offs[:0].
func Layout(metaLen int, bufLens, offs []int) (total int, bufOffsets []int) {
	offs = offs[:0]
	total = HeaderSize(metaLen, bufLens)
	for _, l := range bufLens {
		total = alignUp(total)
		offs = append(offs, total)
		total += l
	}
	return total, offs
}

// AppendHeader appends the header, padded up to the first buffer when there is one.
func AppendHeader(dst []byte, f Format, meta []byte, bufLens []int) []byte {
	start := len(dst)
	dst = append(dst, 0x94, envelopeVersion, byte(f))
	dst = append(appendBin(dst, len(meta)), meta...)
	dst = appendArray(dst, len(bufLens))
	for _, l := range bufLens {
		dst = appendUint(dst, uint64(l))
	}
	if len(bufLens) > 0 {
		dst = pad(dst, start)
	}
	return dst
}

var zeros [bufferAlign]byte

func pad(dst []byte, start int) []byte {
	n := len(dst) - start
	return append(dst, zeros[:alignUp(n)-n]...)
}

// AppendEnvelope appends a whole envelope.
func AppendEnvelope(dst []byte, f Format, meta []byte, bufs ...[]byte) []byte {
	start := len(dst)
	var few [8]int
	lens := few[:0]
	for _, b := range bufs {
		lens = append(lens, len(b))
	}
	dst = AppendHeader(dst, f, meta, lens)
	for _, b := range bufs {
		dst = append(pad(dst, start), b...)
	}
	return dst
}

// Parse reads an envelope. Meta and Bufs are parts of b; bytes after the end
// are ignored. Without buffers nothing is allocated.
func Parse(b []byte) (e Envelope, err error) {
	if len(b) > 5 && b[0] == 0x94 && b[1] == envelopeVersion && b[2] <= byte(lastFormat) && b[3] == 0xc4 {
		// A small value, as AppendHeader writes it.
		if end := 5 + int(b[4]); end < len(b) && b[end] == 0x90 {
			return Envelope{Format: Format(b[2]), Meta: b[5:end:end]}, nil
		}
	}
	return parse(b)
}

// parse reads every form that msgpack allows.
func parse(b []byte) (e Envelope, err error) {
	head, rest, err := readToken(b)
	if err != nil || head.kind != kindArray || head.n != 4 {
		return e, bad("no array of 4", err)
	}
	version, rest, err := readToken(rest)
	if err != nil || version.kind != kindUint || version.n != envelopeVersion {
		return e, bad("unknown version", err)
	}
	format, rest, err := readToken(rest)
	if err != nil || format.kind != kindUint || format.n > uint64(lastFormat) {
		return e, bad("unknown format", err)
	}
	meta, rest, err := readToken(rest)
	if err != nil || meta.kind != kindBytes && meta.kind != kindNil {
		return e, bad("no metadata", err)
	}
	table, rest, err := readToken(rest)
	if err != nil || table.kind != kindArray {
		return e, bad("no buffer table", err)
	}
	e = Envelope{Format: Format(format.n), Meta: meta.data}
	if table.n == 0 {
		return e, nil
	}
	e.Bufs, err = parseBuffers(b, rest, table.n)
	if err != nil {
		return Envelope{}, err
	}
	return e, nil
}

// parseBuffers cuts n buffers out of the envelope b, whose buffer table starts
// at lens. There are at least n bytes of table, so the result is bounded.
func parseBuffers(b, lens []byte, n uint64) ([][]byte, error) {
	bufs := make([][]byte, n)
	sizes := lens
	for range n {
		t, rest, err := readToken(lens)
		if err != nil || t.kind != kindUint {
			return nil, bad("no buffer length", err)
		}
		lens = rest
	}
	at := len(b) - len(lens)
	for i := range bufs {
		size, rest, _ := readToken(sizes)
		sizes = rest
		at = alignUp(at)
		if at > len(b) || size.n > uint64(len(b)-at) {
			return nil, fmt.Errorf("%w: buffer %d of %d bytes at %d reaches past the end at %d",
				ErrBadEnvelope, i, size.n, at, len(b))
		}
		end := at + int(size.n)
		bufs[i] = b[at:end:end]
		at = end
	}
	return bufs, nil
}

func bad(what string, cause error) error {
	if cause != nil {
		return fmt.Errorf("%w: %s: %w", ErrBadEnvelope, what, cause)
	}
	return fmt.Errorf("%w: %s", ErrBadEnvelope, what)
}

func binHead(n int) int {
	switch {
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	}
	return 5
}

func arrayHead(n int) int {
	switch {
	case n < 16:
		return 1
	case n < 1<<16:
		return 3
	}
	return 5
}

func uintSize(v uint64) int {
	switch {
	case v < 1<<7:
		return 1
	case v < 1<<8:
		return 2
	case v < 1<<16:
		return 3
	case v < 1<<32:
		return 5
	}
	return 9
}

package raftstate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

// commandVersion is the version of the envelope.
const commandVersion = 1

// The fields of the envelope; more may follow later. The first version had fewer.
const (
	firstEnvelopeFields = 5
	envelopeFields      = 8
)

// smallCommand is the room that an encoded command gets at once.
const smallCommand = 256

// MaxCommandBytes caps an encoded command.
const MaxCommandBytes = 16 << 20

var (
	// ErrTooLarge: the encoded command exceeds MaxCommandBytes.
	ErrTooLarge = fault.New(fault.BadRequest, "too large for the cluster state")

	// ErrUnknownCommand: a newer version wrote it, or the bytes are damaged.
	ErrUnknownCommand = errors.New("unknown command")
)

// encode returns the log entry of a command.
func encode(c Command) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(smallCommand)
	e := msgpack.GetEncoder()
	defer msgpack.PutEncoder(e)
	e.Reset(&b)
	e.UseCompactInts(true)
	err := firstError(
		e.EncodeArrayLen(envelopeFields),
		e.EncodeUint(commandVersion),
		e.EncodeUint(uint64(c.Body.kind())),
		e.EncodeBytes(c.Request.Client[:]),
		e.EncodeUint(c.Request.Seq),
		e.Encode(c.Body),
		e.EncodeUint(c.Term),
		e.EncodeUint(c.Answered),
		e.EncodeUint(c.Seen),
	)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c.Body.subject(), err)
	}
	if b.Len() > MaxCommandBytes {
		return nil, fmt.Errorf("%s is %d bytes, at most %d are allowed: %w", c.Body.subject(), b.Len(), MaxCommandBytes, ErrTooLarge)
	}
	return b.Bytes(), nil
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// decode reads a log entry. Every error is ErrUnknownCommand.
func decode(b []byte) (Command, error) {
	d := msgpack.GetDecoder()
	defer msgpack.PutDecoder(d)
	d.Reset(bytes.NewReader(b))
	c, err := decodeEnvelope(d)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrUnknownCommand, err)
	}
	return c, nil
}

func decodeEnvelope(d *msgpack.Decoder) (c Command, err error) {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return c, err
	}
	if n < firstEnvelopeFields {
		return c, fmt.Errorf("%d fields, want at least %d", n, firstEnvelopeFields)
	}
	version, err := d.DecodeUint64()
	if err != nil {
		return c, err
	}
	if version != commandVersion {
		return c, fmt.Errorf("version %d, this member knows %d", version, commandVersion)
	}
	kind, err := d.DecodeUint64()
	if err != nil {
		return c, err
	}
	client, err := d.DecodeBytes()
	if err != nil {
		return c, err
	}
	if len(client) != len(c.Request.Client) {
		return c, fmt.Errorf("client id has %d bytes", len(client))
	}
	copy(c.Request.Client[:], client)
	if c.Request.Seq, err = d.DecodeUint64(); err != nil {
		return c, err
	}
	if kind > 1<<16-1 {
		return c, fmt.Errorf("kind %d", kind)
	}
	if c.Body = newBody(Kind(kind)); c.Body == nil {
		return c, fmt.Errorf("kind %d", kind)
	}
	if err = d.Decode(c.Body); err != nil {
		return c, fmt.Errorf("body of kind %d: %w", kind, err)
	}
	if n < envelopeFields {
		return c, nil // the first version wrote it
	}
	if c.Term, err = d.DecodeUint64(); err != nil {
		return c, fmt.Errorf("term of a command of kind %d: %w", kind, err)
	}
	if c.Answered, err = d.DecodeUint64(); err != nil {
		return c, fmt.Errorf("answered requests of a command of kind %d: %w", kind, err)
	}
	if c.Answered > c.Request.Seq {
		return c, fmt.Errorf("request %d says that the requests below %d are answered", c.Request.Seq, c.Answered)
	}
	if c.Seen, err = d.DecodeUint64(); err != nil {
		return c, fmt.Errorf("index of a command of kind %d: %w", kind, err)
	}
	return c, nil
}

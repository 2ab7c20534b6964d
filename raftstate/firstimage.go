package raftstate

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
	"github.com/eagleray/eagleray/raftstate/internal/recordstream"
)

// firstImageMagic begins the snapshots of the first layout, which are zstd from their first byte on.
var firstImageMagic = [...]byte{0x28, 0xb5, 0x2f, 0xfd}

// firstImageFormat is the version in such a snapshot.
const firstImageFormat = 1

// firstImage is the first layout: zstd over one msgpack map. It is read only.
type firstImage struct {
	Format     int                             `msgpack:"format"`
	Index      uint64                          `msgpack:"index"`
	Seq        uint64                          `msgpack:"seq"`
	LastJob    uint32                          `msgpack:"last_job"`
	LastNode   uint32                          `msgpack:"last_node"`
	Nodes      []*record.Node                  `msgpack:"nodes"`
	Jobs       []*record.Job                   `msgpack:"jobs"`
	Actors     []*record.Actor                 `msgpack:"actors"`
	DeadNodes  []ids.Node                      `msgpack:"dead_nodes"`
	EndedJobs  []ids.Job                       `msgpack:"ended_jobs"`
	DeadActors []ids.Actor                     `msgpack:"dead_actors"`
	Code       []firstCode                     `msgpack:"code"`
	CodeFor    []classes.ImagePending          `msgpack:"code_for"`
	KV         []firstValues                   `msgpack:"kv"`
	Settings   []imageValue                    `msgpack:"settings"`
	Requests   []answered.FirstRequest[Result] `msgpack:"requests"`
	Floors     []RequestID                     `msgpack:"floors"`
}

type firstCode struct {
	Object ids.Object `msgpack:"o"`
	Size   uint64     `msgpack:"s"`
	Parts  [][]byte   `msgpack:"p"`
}

type firstValues struct {
	Name   string       `msgpack:"name"`
	Values []imageValue `msgpack:"values"`
}

// readFirstImage reads a snapshot of the first layout.
func readFirstImage(r io.Reader) (*Machine, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(recordstream.MaxMemory))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var im firstImage
	if err := msgpack.NewDecoder(z).Decode(&im); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamagedSnapshot, err)
	}
	if im.Format != firstImageFormat {
		return nil, fmt.Errorf("%w: it says format %d", ErrDamagedSnapshot, im.Format)
	}
	m, err := im.machine()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamagedSnapshot, err)
	}
	return m, nil
}

// machine builds the machine that the image was made from.
func (im *firstImage) machine() (*Machine, error) {
	if slices.Contains(im.Nodes, nil) || slices.Contains(im.Jobs, nil) || slices.Contains(im.Actors, nil) {
		return nil, errors.New("an empty record")
	}
	b := newImageBuilder()
	b.pending = im.CodeFor
	err := errors.Join(
		b.start(&imageFirst{Index: im.Index, Seq: im.Seq, LastJob: im.LastJob, LastNode: im.LastNode}),
		b.over(&imageEnded{im.DeadNodes, im.EndedJobs, im.DeadActors}),
		each(im.Nodes, b.node), each(im.Jobs, b.job), each(im.Actors, b.actor),
	)
	for _, c := range im.Code {
		err = errors.Join(err, b.m.classes.RestorePart(&classes.ImagePart{Object: c.Object, Size: c.Size}))
		for _, part := range c.Parts {
			err = errors.Join(err, b.m.classes.RestorePart(&classes.ImagePart{Object: c.Object, Size: c.Size, Data: part}))
		}
	}
	for _, ns := range im.KV {
		for _, v := range ns.Values {
			err = errors.Join(err, b.kv(&imageValue{ns.Name, v.Key, v.Value}))
		}
	}
	for _, v := range im.Settings {
		err = errors.Join(err, b.setting(&v))
	}
	b.m.answered.RestoreFirst(im.Floors, im.Requests, func(r Result) uint64 { return r.Index })
	if err != nil {
		return nil, err
	}
	return b.m, b.users()
}

func each[T any](list []*T, take func(*T) error) (err error) {
	for _, x := range list {
		err = errors.Join(err, take(x))
	}
	return err
}

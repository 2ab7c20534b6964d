package raftstate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
)

// imageFormat is the version of the snapshot's layout. Format 1 had no keys of Go programs; it is read, too.
const (
	imageFormat    = 2
	oldImageFormat = 1
)

// imageWindow is how far back the compressor looks: more costs memory for little.
const imageWindow = 1 << 20

// maxImageMemory caps what the decompressor may take for its window.
const maxImageMemory = 64 << 20

// image is the snapshot's layout: zstd over msgpack. Every list has an order
// that follows from the state alone, so equal states give equal bytes.
type image struct {
	Format     int              `msgpack:"format"`
	Index      uint64           `msgpack:"index"`
	Seq        uint64           `msgpack:"seq"`
	LastJob    uint32           `msgpack:"last_job"`
	LastNode   uint32           `msgpack:"last_node"`
	Nodes      []*record.Node   `msgpack:"nodes"`
	Jobs       []*record.Job    `msgpack:"jobs"`
	Actors     []*record.Actor  `msgpack:"actors"`
	DeadNodes  []ids.Node       `msgpack:"dead_nodes"`
	EndedJobs  []ids.Job        `msgpack:"ended_jobs"`
	DeadActors []ids.Actor      `msgpack:"dead_actors"`
	Code       []imageCode      `msgpack:"code"`
	CodeFor    []imageCodeFor   `msgpack:"code_for"`
	KV         []imageNamespace `msgpack:"kv"`
	Settings   []imageValue     `msgpack:"settings"`
	Keys       keyspace.Image   `msgpack:"keys"`
	Requests   []imageRequest   `msgpack:"requests"`
	Floors     []RequestID      `msgpack:"floors"`
}

type imageNamespace struct {
	Name   string       `msgpack:"name"`
	Values []imageValue `msgpack:"values"`
}

type imageValue struct {
	Key   string `msgpack:"k"`
	Value []byte `msgpack:"v"`
}

type imageRequest struct {
	ID     RequestID `msgpack:"id"`
	Result Result    `msgpack:"res"`
}

// image lays the machine out.
func (m *Machine) image() *image {
	im := &image{
		Format: imageFormat, Index: m.index, Seq: m.seq, LastJob: m.lastJob, LastNode: m.lastNode,
		DeadNodes: m.deadNodes, EndedJobs: m.endedJobs, DeadActors: m.deadActors,
	}
	im.Nodes = slices.SortedFunc(maps.Values(m.nodes), func(a, b *record.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	im.Jobs = slices.SortedFunc(maps.Values(m.jobs), func(a, b *record.Job) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	im.Actors = slices.SortedFunc(maps.Values(m.actors), func(a, b *record.Actor) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	im.Code, im.CodeFor = m.imageCode()
	for _, ns := range slices.Sorted(maps.Keys(m.kv)) {
		im.KV = append(im.KV, imageNamespace{ns, imageValues(m.kv[ns])})
	}
	im.Settings = imageValues(m.settings)
	im.Keys = m.keys.Image()
	for id, r := range m.dedup.results.all() {
		im.Requests = append(im.Requests, imageRequest{id, r})
	}
	for _, c := range m.dedup.clients {
		im.Floors = append(im.Floors, RequestID{c, m.dedup.floors[c]})
	}
	return im
}

func imageValues(m map[string][]byte) []imageValue {
	values := make([]imageValue, 0, len(m))
	for k, v := range m {
		values = append(values, imageValue{k, v})
	}
	slices.SortFunc(values, func(a, b imageValue) int { return cmp.Compare(a.Key, b.Key) })
	return values
}

// machine builds the machine that the image was made from.
func (im *image) machine() (*Machine, error) {
	if slices.Contains(im.Nodes, nil) || slices.Contains(im.Jobs, nil) || slices.Contains(im.Actors, nil) {
		return nil, errors.New("an empty record")
	}
	m := NewMachine()
	m.index, m.seq, m.lastJob, m.lastNode = im.Index, im.Seq, im.LastJob, im.LastNode
	m.deadNodes, m.endedJobs, m.deadActors = im.DeadNodes, im.EndedJobs, im.DeadActors
	for _, n := range im.Nodes {
		m.nodes[n.ID] = n
	}
	for _, j := range im.Jobs {
		m.keepJob(j)
	}
	for _, a := range im.Actors {
		m.places.move(m.actors[a.ID], a)
		m.actors[a.ID] = a
		if a.Name != "" && a.Live() {
			m.names[name{a.Namespace, a.Name}] = a.ID
		}
	}
	if err := m.restoreCode(im.Code, im.CodeFor); err != nil {
		return nil, err
	}
	for _, ns := range im.KV {
		keys := make(map[string][]byte, len(ns.Values))
		for _, v := range ns.Values {
			keys[v.Key] = value(v.Value)
		}
		m.kv[ns.Name] = keys
	}
	for _, v := range im.Settings {
		m.settings[v.Key] = value(v.Value)
	}
	var err error
	if m.keys, err = im.Keys.Space(); err != nil {
		return nil, err
	}
	for _, r := range im.Requests {
		if _, known := m.dedup.results.find(r.ID); !known {
			m.dedup.results.add(r.ID, r.Result)
		}
	}
	for _, f := range im.Floors {
		m.dedup.floors[f.Client] = f.Seq
		m.dedup.clients = append(m.dedup.clients, f.Client)
	}
	return m, nil
}

// WriteSnapshot writes the machine. Equal machines write equal bytes.
func (m *Machine) WriteSnapshot(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(imageWindow))
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	e := msgpack.NewEncoder(z)
	e.UseCompactInts(true)
	e.SetSortMapKeys(true)
	if err := e.Encode(m.image()); err != nil {
		_ = z.Close()
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// ReadSnapshot reads what WriteSnapshot wrote.
func ReadSnapshot(r io.Reader) (*Machine, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxImageMemory))
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	defer z.Close()
	var im image
	if err := msgpack.NewDecoder(z).Decode(&im); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if im.Format < oldImageFormat || im.Format > imageFormat {
		return nil, fmt.Errorf("read snapshot: format %d, this member knows %d to %d", im.Format, oldImageFormat, imageFormat)
	}
	m, err := im.machine()
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return m, nil
}

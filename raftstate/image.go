package raftstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/blocks"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// A snapshot begins with a header: magic, 8 bytes; version of the layout, 4 bytes, little endian. Package blocks puts the rest under
// checksums. In the blocks is a zstd stream, and in that are records.
const (
	imageMagic  = "eagleray"
	imageHeader = len(imageMagic) + 4
	// imageWindow is how far back the compressor looks: more costs memory for little.
	imageWindow = 1 << 20
	// maxImageMemory caps what the decompressor may take for its window.
	maxImageMemory = 64 << 20
	// maxImageRecord caps a record. The largest has the value of a command, or what is kept of a client.
	maxImageRecord = MaxCommandBytes + 1<<20
)

// imageLayouts has the layouts that this build reads, and from which level in use on each is written: then all heads of the cluster read it. The first one is
// what is written while no level is noted.
var imageLayouts = laidOut()

type imageLayout struct {
	version uint32
	level   int
}

func laidOut() []imageLayout {
	list := []imageLayout{{version: 2, level: 1}}
	if ahead != "" { // the second build of tests of upgrades has a layout of its own, which says the same
		list = append(list, imageLayout{version: 3, level: Level})
	}
	return list
}

// layoutFor returns the layout of a snapshot that all heads read when that level is in use.
func layoutFor(level int) uint32 {
	version := imageLayouts[0].version
	for _, l := range imageLayouts {
		if l.level <= level {
			version = l.version
		}
	}
	return version
}

// knowsLayout reports whether this build reads a layout.
func knowsLayout(version uint32) bool {
	return slices.ContainsFunc(imageLayouts, func(l imageLayout) bool { return l.version == version })
}

// ErrDamagedSnapshot: a snapshot is not as it was written.
var ErrDamagedSnapshot = errors.New("the snapshot of the cluster's state is damaged")

// ErrNewerSnapshot: a newer version of Eagle Ray wrote a snapshot.
var ErrNewerSnapshot = errors.New("a newer version of Eagle Ray wrote the snapshot of the cluster's state. Start this head with that version, or a later one")

// imageKind numbers the kinds of records in a snapshot. Numbers are never reused.
type imageKind uint16

// The kinds; the comment says what the body is.
const (
	imageStart   imageKind = 1  // imageFirst; comes first
	imageNode    imageKind = 2  // record.Node
	imageJob     imageKind = 3  // record.Job
	imageActor   imageKind = 4  // record.Actor
	imageOver    imageKind = 5  // imageEnded
	imagePart    imageKind = 6  // classes.ImagePart
	imagePending imageKind = 7  // classes.ImagePending
	imageKV      imageKind = 8  // imageValue
	imageSetting imageKind = 9  // imageValue
	imageAsker   imageKind = 10 // answered.ImageClient
	imageEnd     imageKind = 11 // imageCount; comes last

	// The store of Go programs; see package keyspace.
	imageSpace     imageKind = 12 // imageKeys
	imageKeyLease  imageKind = 13 // record.KeyLease
	imageKey       imageKind = 14 // record.KeyPair
	imageKeyChange imageKind = 15 // record.KeyChange

	// Records that name large values.
	imageActorBlobs imageKind = 16 // record.Actor
	imagePartBlob   imageKind = 17 // classes.ImageBlob
	imageKVBlob     imageKind = 18 // imageBlobValue
)

// imageVersions has the version of each kind's body. It is raised when a member that does not know the new fields would
// read a wrong state. Such a member refuses the snapshot, so a raised version needs a layout of its own, and is written from that layout's level on only. Fields that
// it may leave out raise nothing.
var imageVersions = map[imageKind]uint64{
	imageStart: 1, imageNode: 1, imageJob: 1, imageActor: 1, imageOver: 1, imagePart: 1, imagePending: 1, imageKV: 1, imageSetting: 1,
	imageAsker: 1, imageEnd: 1, imageSpace: 1, imageKeyLease: 1, imageKey: 1, imageKeyChange: 1,
	imageActorBlobs: 1, imagePartBlob: 1, imageKVBlob: 1,
}

type imageFirst struct {
	Index     uint64 `msgpack:"index"`
	Seq       uint64 `msgpack:"seq"`
	LastJob   uint32 `msgpack:"last_job"`
	LastNode  uint32 `msgpack:"last_node"`
	Forgotten uint64 `msgpack:"forgotten"`
}

type imageEnded struct {
	Nodes  []ids.Node  `msgpack:"nodes"`
	Jobs   []ids.Job   `msgpack:"jobs"`
	Actors []ids.Actor `msgpack:"actors"`
}

type imageValue struct {
	Namespace string `msgpack:"ns,omitempty"`
	Key       string `msgpack:"k"`
	Value     []byte `msgpack:"v"`
}

type imageBlobValue struct {
	Namespace string      `msgpack:"ns,omitempty"`
	Key       string      `msgpack:"k"`
	Value     record.Blob `msgpack:"v"`
}

type imageKeys struct {
	Reign uint64 `msgpack:"reign"`
	Seq   uint64 `msgpack:"seq"`
}

type imageCount struct {
	Records uint64 `msgpack:"records"` // before this one
}

// imageWriter writes records. After the first error it does nothing.
type imageWriter struct {
	w     io.Writer
	buf   bytes.Buffer // of one record
	enc   *msgpack.Encoder
	count uint64
	err   error
}

// add writes a record: its length, and a msgpack sequence of kind, version and body.
func (w *imageWriter) add(k imageKind, body any) {
	if w.err != nil {
		return
	}
	w.buf.Reset()
	w.buf.Write([]byte{0, 0, 0, 0})
	w.err = errors.Join(w.enc.EncodeUint(uint64(k)), w.enc.EncodeUint(imageVersions[k]), w.enc.Encode(body))
	size := w.buf.Len() - 4
	if w.err == nil && size > maxImageRecord {
		w.err = fmt.Errorf("a record of kind %d has %d bytes, and at most %d are allowed", k, size, maxImageRecord)
	}
	if w.err == nil {
		binary.LittleEndian.PutUint32(w.buf.Bytes(), uint32(size))
		_, w.err = w.w.Write(w.buf.Bytes())
	}
	w.count++
}

// WriteSnapshot writes the machine, one record after the other, so that it takes no memory to speak of. Equal machines
// write equal bytes: every list has an order that follows from the state alone.
func (m *Machine) WriteSnapshot(w io.Writer) error {
	if err := m.writeSnapshot(w); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

func (m *Machine) writeSnapshot(w io.Writer) error {
	b, err := blocks.NewWriter(w, binary.LittleEndian.AppendUint32([]byte(imageMagic), layoutFor(m.Level())))
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(imageWindow))
	if err != nil {
		return err
	}
	err = m.writeRecords(z)
	if e := z.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return b.Close()
}

func (m *Machine) writeRecords(out io.Writer) error {
	w := &imageWriter{w: out}
	w.enc = msgpack.NewEncoder(&w.buf)
	w.enc.UseCompactInts(true)
	w.enc.SetSortMapKeys(true)
	w.add(imageStart, &imageFirst{m.index, m.seq, m.lastJob, m.lastNode, m.answered.Forgotten()})
	for _, id := range sortedIDs(maps.Keys(m.nodes), func(id ids.Node) []byte { return id[:] }) {
		w.add(imageNode, m.nodes[id])
	}
	for _, id := range sortedIDs(maps.Keys(m.jobs), func(id ids.Job) []byte { return id[:] }) {
		w.add(imageJob, m.jobs[id])
	}
	for _, id := range sortedIDs(maps.Keys(m.actors), func(id ids.Actor) []byte { return id[:] }) {
		kind := imageActor
		if m.actors[id].Blobs != nil {
			kind = imageActorBlobs // a member that does not know large values refuses it
		}
		w.add(kind, m.actors[id])
	}
	w.add(imageOver, &imageEnded{m.deadNodes, m.endedJobs, m.deadActors})
	m.classes.Image(
		func(p *classes.ImagePart) { w.add(imagePart, p) },
		func(p *classes.ImageBlob) { w.add(imagePartBlob, p) },
		func(p *classes.ImagePending) { w.add(imagePending, p) },
	)
	for _, ns := range slices.Sorted(maps.Keys(m.kv)) {
		for _, k := range slices.Sorted(maps.Keys(m.kv[ns])) {
			if v := m.kv[ns][k]; v.Blob != nil {
				w.add(imageKVBlob, &imageBlobValue{ns, k, *v.Blob})
			} else {
				w.add(imageKV, &imageValue{ns, k, v.Data})
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m.settings)) {
		w.add(imageSetting, &imageValue{Key: k, Value: m.settings[k]})
	}
	m.writeKeys(w)
	if !strikes(lostDedup) {
		for c := range m.answered.Image() {
			w.add(imageAsker, c)
		}
	}
	w.add(imageEnd, &imageCount{w.count})
	return w.err
}

// writeKeys writes the store of Go programs, unless nobody has used it.
func (m *Machine) writeKeys(w *imageWriter) {
	im := m.keys.Image()
	if im.Reign == 0 && im.Seq == 0 && len(im.Keys) == 0 && len(im.Leases) == 0 {
		return
	}
	w.add(imageSpace, &imageKeys{im.Reign, im.Seq})
	for i := range im.Leases {
		w.add(imageKeyLease, &im.Leases[i])
	}
	for i := range im.Keys {
		w.add(imageKey, &im.Keys[i])
	}
	for i := range im.Changes {
		w.add(imageKeyChange, &im.Changes[i])
	}
}

// sortedIDs returns ids in the order of their bytes.
func sortedIDs[T any](all iter.Seq[T], bytesOf func(T) []byte) []T {
	return slices.SortedFunc(all, func(a, b T) int { return bytes.Compare(bytesOf(a), bytesOf(b)) })
}

// ReadSnapshot reads what WriteSnapshot wrote, of this version or an earlier one. It refuses what was damaged
// (ErrDamagedSnapshot), and what it would not understand wholly (ErrNewerSnapshot). Beside the machine it takes the memory of
// the compressor's window and of one record.
func ReadSnapshot(r io.Reader) (*Machine, error) {
	m, err := readSnapshot(r)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return m, nil
}

func readSnapshot(r io.Reader) (*Machine, error) {
	var head [imageHeader]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if bytes.HasPrefix(head[:n], firstImageMagic) {
		return readFirstImage(io.MultiReader(bytes.NewReader(head[:n]), r))
	}
	if n < len(head) || string(head[:len(imageMagic)]) != imageMagic {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrDamagedSnapshot)
	}
	if layout := binary.LittleEndian.Uint32(head[len(imageMagic):]); !knowsLayout(layout) {
		return nil, fmt.Errorf("%w (its layout has version %d, and this version knows versions up to %d)", ErrNewerSnapshot, layout, imageLayouts[len(imageLayouts)-1].version)
	}
	z, err := zstd.NewReader(blocks.NewReader(r, head[:]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxImageMemory))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b := newImageBuilder()
	if err := b.readRecords(z); err != nil {
		if damage := (*blocks.Damage)(nil); errors.As(err, &damage) {
			err = fmt.Errorf("%w: %w", ErrDamagedSnapshot, err)
		}
		return nil, err
	}
	return b.m, nil
}

// readRecords reads all records, up to the end of the stream.
func (b *imageBuilder) readRecords(r io.Reader) error {
	var buf bytes.Buffer
	for {
		var head [4]byte
		switch _, err := io.ReadFull(r, head[:]); {
		case errors.Is(err, io.EOF):
			return b.finish()
		case errors.Is(err, io.ErrUnexpectedEOF):
			return b.damaged("it ends within a record")
		case err != nil:
			return err
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size > maxImageRecord {
			return b.damaged("a record has %d bytes, and at most %d are allowed", size, maxImageRecord)
		}
		buf.Reset()
		switch _, err := io.CopyN(&buf, r, int64(size)); {
		case errors.Is(err, io.EOF):
			return b.damaged("it ends within a record")
		case err != nil:
			return err
		}
		if err := b.record(&buf); err != nil {
			return err
		}
	}
}

// record takes one record.
func (b *imageBuilder) record(buf *bytes.Buffer) error {
	d := msgpack.NewDecoder(buf)
	kind, err := d.DecodeUint64()
	if err != nil {
		return b.damaged("the kind of a record cannot be read: %v", err)
	}
	version, err := d.DecodeUint64()
	if err != nil {
		return b.damaged("the version of a record of kind %d cannot be read: %v", kind, err)
	}
	known := uint64(0)
	if kind < 1<<16 {
		known = imageVersions[imageKind(kind)]
	}
	switch {
	case known == 0:
		return fmt.Errorf("%w (it has a record of kind %d, which this version does not know)", ErrNewerSnapshot, kind)
	case version > known:
		return fmt.Errorf("%w (it has a record of kind %d in version %d, and this version knows %d)", ErrNewerSnapshot, kind, version, known)
	}
	if err := b.take(imageKind(kind), d); err != nil {
		return b.damaged("a record of kind %d: %v", kind, err)
	}
	if buf.Len() > 0 {
		return b.damaged("a record of kind %d has %d bytes after its end", kind, buf.Len())
	}
	b.records++
	return nil
}

// take decodes a record's body and puts it into the machine.
func (b *imageBuilder) take(k imageKind, d *msgpack.Decoder) error {
	if (k == imageStart) != (b.records == 0) || b.ended {
		return errors.New("it is not where it belongs")
	}
	switch k {
	case imageStart:
		return decodeThen(d, b.start)
	case imageNode:
		return decodeThen(d, b.node)
	case imageJob:
		return decodeThen(d, b.job)
	case imageActor, imageActorBlobs:
		return decodeThen(d, b.actor)
	case imageOver:
		return decodeThen(d, b.over)
	case imagePart:
		return decodeThen(d, b.m.classes.RestorePart)
	case imagePartBlob:
		return decodeThen(d, b.m.classes.RestoreBlob)
	case imagePending:
		return decodeThen(d, b.codeFor)
	case imageKV:
		return decodeThen(d, b.kv)
	case imageKVBlob:
		return decodeThen(d, b.kvBlob)
	case imageSetting:
		return decodeThen(d, b.setting)
	case imageAsker:
		return decodeThen(d, b.m.answered.Restore)
	case imageSpace:
		return decodeThen(d, func(k *imageKeys) error { b.keys.Reign, b.keys.Seq = k.Reign, k.Seq; return nil })
	case imageKeyLease:
		return decodeThen(d, func(l *record.KeyLease) error { b.keys.Leases = append(b.keys.Leases, *l); return nil })
	case imageKey:
		return decodeThen(d, func(p *record.KeyPair) error { b.keys.Keys = append(b.keys.Keys, *p); return nil })
	case imageKeyChange:
		return decodeThen(d, func(c *record.KeyChange) error { b.keys.Changes = append(b.keys.Changes, *c); return nil })
	case imageEnd:
		return decodeThen(d, b.end)
	}
	return errors.New("its kind is not known")
}

func decodeThen[T any](d *msgpack.Decoder, take func(*T) error) error {
	body := new(T)
	if err := d.Decode(body); err != nil {
		return err
	}
	return take(body)
}

// imageBuilder makes a machine of records.
type imageBuilder struct {
	m       *Machine
	records uint64
	ended   bool
	pending []classes.ImagePending
	keys    keyspace.Image
}

func newImageBuilder() *imageBuilder { return &imageBuilder{m: NewMachine()} }

func (b *imageBuilder) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: record %d: %s", ErrDamagedSnapshot, b.records+1, fmt.Sprintf(format, args...))
}

func (b *imageBuilder) start(f *imageFirst) error {
	m := b.m
	m.index, m.seq, m.lastJob, m.lastNode = f.Index, f.Seq, f.LastJob, f.LastNode
	m.answered.RestoreForgotten(f.Forgotten)
	return nil
}

func (b *imageBuilder) node(n *record.Node) error {
	if b.m.nodes[n.ID] != nil {
		return fmt.Errorf("node %s is there twice", n.ID)
	}
	b.m.nodes[n.ID] = n
	return nil
}

func (b *imageBuilder) job(j *record.Job) error {
	if b.m.jobs[j.ID] != nil {
		return fmt.Errorf("job %s is there twice", j.ID)
	}
	b.m.keepJob(j)
	return nil
}

func (b *imageBuilder) actor(a *record.Actor) error {
	m := b.m
	if m.actors[a.ID] != nil {
		return fmt.Errorf("actor %s is there twice", a.ID)
	}
	if err := m.blobs.Restore(a.Blobs.List()...); err != nil {
		return err
	}
	m.places.move(nil, a)
	m.actors[a.ID] = a
	if a.Name != "" && a.Live() {
		m.names[name{a.Namespace, a.Name}] = a.ID
	}
	return nil
}

func (b *imageBuilder) over(e *imageEnded) error {
	b.m.deadNodes, b.m.endedJobs, b.m.deadActors = e.Nodes, e.Jobs, e.Actors
	return nil
}

func (b *imageBuilder) codeFor(p *classes.ImagePending) error {
	b.pending = append(b.pending, *p)
	return nil
}

func (b *imageBuilder) kv(v *imageValue) error {
	return b.putKV(v.Namespace, v.Key, values.Value{Data: value(v.Value)})
}

func (b *imageBuilder) kvBlob(v *imageBlobValue) error {
	if err := b.m.blobs.Restore(v.Value); err != nil {
		return err
	}
	return b.putKV(v.Namespace, v.Key, values.Value{Blob: &v.Value})
}

func (b *imageBuilder) putKV(namespace, key string, v values.Value) error {
	keys := b.m.kv[namespace]
	if keys == nil {
		keys = map[string]values.Value{}
		b.m.kv[namespace] = keys
	}
	if _, twice := keys[key]; twice {
		return fmt.Errorf("key %q is there twice", key)
	}
	keys[key] = v
	return nil
}

func (b *imageBuilder) setting(v *imageValue) error {
	b.m.settings[v.Key] = value(v.Value)
	return nil
}

func (b *imageBuilder) end(c *imageCount) error {
	if c.Records != b.records {
		return fmt.Errorf("there were %d records, and there are %d", c.Records, b.records)
	}
	b.ended = true
	return nil
}

// users says who needs the classes.
func (b *imageBuilder) users() error {
	for _, a := range b.m.actors {
		if err := b.m.classes.RestoreUser(a.Code); err != nil {
			return err
		}
	}
	for i := range b.pending {
		if err := b.m.classes.RestorePending(&b.pending[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the machine when all records were read.
func (b *imageBuilder) finish() error {
	if !b.ended {
		return b.damaged("it ends too early")
	}
	if err := b.users(); err != nil {
		return b.damaged("%v", err)
	}
	keys, err := b.keys.Space()
	if err != nil {
		return b.damaged("%v", err)
	}
	b.m.keys = keys
	return nil
}

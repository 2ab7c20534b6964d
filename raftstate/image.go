package raftstate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
	"github.com/eagleray/eagleray/raftstate/internal/recordstream"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// maxImageRecord caps a record of a snapshot. The largest has the value of a command, or what is kept of a client.
const maxImageRecord = MaxCommandBytes + 1<<20

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

// readLayouts returns the layouts that this build reads.
func readLayouts() (list []uint32) {
	for _, l := range imageLayouts {
		list = append(list, l.version)
	}
	return list
}

// ErrDamagedSnapshot: a snapshot is not as it was written.
var ErrDamagedSnapshot = recordstream.ErrDamaged

// ErrNewerSnapshot: a newer version of Eagle Ray wrote a snapshot.
var ErrNewerSnapshot = recordstream.ErrNewer

// imageKind numbers the kinds of records in a snapshot. Numbers are never reused.
type imageKind = recordstream.Kind

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
	imageEnd     imageKind = 11 // comes last

	// The store of Go programs; see package keyspace.
	imageSpace     imageKind = 12 // imageKeys
	imageKeyLease  imageKind = 13 // record.KeyLease
	imageKey       imageKind = 14 // record.KeyPair
	imageKeyChange imageKind = 15 // record.KeyChange

	// Records that name large values.
	imageActorBlobs imageKind = 16 // record.Actor
	imagePartBlob   imageKind = 17 // classes.ImageBlob
	imageKVBlob     imageKind = 18 // imageBlobValue

	// Placement groups.
	imageGroup         imageKind = 19 // record.Group
	imageRemovedGroups imageKind = 20 // imageGroups
)

// imageFormat is how records become a snapshot.
var imageFormat = recordstream.Format{Versions: imageVersions, End: imageEnd, MaxRecord: maxImageRecord}

// imageVersions has the version of each kind's body. It is raised when a member that does not know the new fields would
// read a wrong state. Such a member refuses the snapshot, so a raised version needs a layout of its own, and is written from that layout's level on only. Fields that
// it may leave out raise nothing.
var imageVersions = map[imageKind]uint64{
	imageStart: 1, imageNode: 1, imageJob: 1, imageActor: 1, imageOver: 1, imagePart: 1, imagePending: 1, imageKV: 1, imageSetting: 1,
	imageAsker: 1, imageEnd: 1, imageSpace: 1, imageKeyLease: 1, imageKey: 1, imageKeyChange: 1,
	imageActorBlobs: 1, imagePartBlob: 1, imageKVBlob: 1, imageGroup: 1, imageRemovedGroups: 1,
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

type imageGroups struct {
	IDs []ids.Group `msgpack:"ids"`
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

// WriteSnapshot writes the machine, one record after the other, so that it takes no memory to speak of. Equal machines
// write equal bytes: every list has an order that follows from the state alone.
func (m *Machine) WriteSnapshot(w io.Writer) error {
	if err := imageFormat.Write(w, layoutFor(m.Level()), m.writeRecords); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

func (m *Machine) writeRecords(w *recordstream.Writer) {
	w.Add(imageStart, &imageFirst{m.index, m.seq, m.lastJob, m.lastNode, m.answered.Forgotten()})
	for _, id := range sortedIDs(maps.Keys(m.nodes), func(id ids.Node) []byte { return id[:] }) {
		w.Add(imageNode, m.nodes[id])
	}
	for _, id := range sortedIDs(maps.Keys(m.jobs), func(id ids.Job) []byte { return id[:] }) {
		w.Add(imageJob, m.jobs[id])
	}
	for _, id := range sortedIDs(m.actors.IDs(), func(id ids.Actor) []byte { return id[:] }) {
		a, kind := m.actors.Get(id), imageActor
		if a.Blobs != nil {
			kind = imageActorBlobs // a member that does not know large values refuses it
		}
		w.Add(kind, a)
	}
	for _, g := range m.groups.ByID() {
		w.Add(imageGroup, g)
	}
	if removed := m.groups.Removed(); len(removed) > 0 {
		w.Add(imageRemovedGroups, &imageGroups{removed})
	}
	w.Add(imageOver, &imageEnded{m.deadNodes, m.endedJobs, m.deadActors})
	m.classes.Image(
		func(p *classes.ImagePart) { w.Add(imagePart, p) },
		func(p *classes.ImageBlob) { w.Add(imagePartBlob, p) },
		func(p *classes.ImagePending) { w.Add(imagePending, p) },
	)
	for _, ns := range slices.Sorted(maps.Keys(m.kv)) {
		for _, k := range slices.Sorted(maps.Keys(m.kv[ns])) {
			if v := m.kv[ns][k]; v.Blob != nil {
				w.Add(imageKVBlob, &imageBlobValue{ns, k, *v.Blob})
			} else {
				w.Add(imageKV, &imageValue{ns, k, v.Data})
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m.settings)) {
		w.Add(imageSetting, &imageValue{Key: k, Value: m.settings[k]})
	}
	m.writeKeys(w)
	if !strikes(lostDedup) {
		for c := range m.answered.Image() {
			w.Add(imageAsker, c)
		}
	}
}

// writeKeys writes the store of Go programs, unless nobody has used it.
func (m *Machine) writeKeys(w *recordstream.Writer) {
	im := m.keys.Image()
	if im.Reign == 0 && im.Seq == 0 && len(im.Keys) == 0 && len(im.Leases) == 0 {
		return
	}
	w.Add(imageSpace, &imageKeys{im.Reign, im.Seq})
	for i := range im.Leases {
		w.Add(imageKeyLease, &im.Leases[i])
	}
	for i := range im.Keys {
		w.Add(imageKey, &im.Keys[i])
	}
	for i := range im.Changes {
		w.Add(imageKeyChange, &im.Changes[i])
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
	var head [len(firstImageMagic)]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(head[:n]), r)
	if head == firstImageMagic {
		return readFirstImage(whole)
	}
	b := newImageBuilder()
	if err := imageFormat.Read(whole, readLayouts(), b.take); err != nil {
		return nil, err
	}
	return b.finish()
}

// take decodes a record's body and puts it into the machine.
func (b *imageBuilder) take(k imageKind, d *msgpack.Decoder) error {
	if (k == imageStart) == b.started {
		return errors.New("it is not where it belongs")
	}
	switch k {
	case imageStart:
		return recordstream.Decode(d, b.start)
	case imageNode:
		return recordstream.Decode(d, b.node)
	case imageJob:
		return recordstream.Decode(d, b.job)
	case imageActor, imageActorBlobs:
		return recordstream.Decode(d, b.actor)
	case imageGroup:
		return recordstream.Decode(d, b.m.groups.Restore)
	case imageRemovedGroups:
		return recordstream.Decode(d, func(g *imageGroups) error { return b.m.groups.RestoreRemoved(g.IDs) })
	case imageOver:
		return recordstream.Decode(d, b.over)
	case imagePart:
		return recordstream.Decode(d, b.m.classes.RestorePart)
	case imagePartBlob:
		return recordstream.Decode(d, b.m.classes.RestoreBlob)
	case imagePending:
		return recordstream.Decode(d, b.codeFor)
	case imageKV:
		return recordstream.Decode(d, b.kv)
	case imageKVBlob:
		return recordstream.Decode(d, b.kvBlob)
	case imageSetting:
		return recordstream.Decode(d, b.setting)
	case imageAsker:
		return recordstream.Decode(d, b.m.answered.Restore)
	case imageSpace:
		return recordstream.Decode(d, func(k *imageKeys) error { b.keys.Reign, b.keys.Seq = k.Reign, k.Seq; return nil })
	case imageKeyLease:
		return recordstream.Decode(d, func(l *record.KeyLease) error { b.keys.Leases = append(b.keys.Leases, *l); return nil })
	case imageKey:
		return recordstream.Decode(d, func(p *record.KeyPair) error { b.keys.Keys = append(b.keys.Keys, *p); return nil })
	case imageKeyChange:
		return recordstream.Decode(d, func(c *record.KeyChange) error { b.keys.Changes = append(b.keys.Changes, *c); return nil })
	}
	return errors.New("its kind is not known")
}

// imageBuilder makes a machine of records.
type imageBuilder struct {
	m       *Machine
	started bool
	pending []classes.ImagePending
	keys    keyspace.Image
}

func newImageBuilder() *imageBuilder { return &imageBuilder{m: NewMachine()} }

func (b *imageBuilder) start(f *imageFirst) error {
	m := b.m
	b.started = true
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
	if m.actors.Get(a.ID) != nil {
		return fmt.Errorf("actor %s is there twice", a.ID)
	}
	if err := m.blobs.Restore(a.Blobs.List()...); err != nil {
		return err
	}
	m.actors.Put(a)
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

// users says who needs the classes.
func (b *imageBuilder) users() error {
	for _, a := range b.m.actors.All() {
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
func (b *imageBuilder) finish() (*Machine, error) {
	if !b.started {
		return nil, fmt.Errorf("%w: it has no beginning", ErrDamagedSnapshot)
	}
	if err := b.users(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamagedSnapshot, err)
	}
	keys, err := b.keys.Space()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamagedSnapshot, err)
	}
	b.m.keys = keys
	return b.m, nil
}

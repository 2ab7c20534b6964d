package raftstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/answered"
	"github.com/eagleray/eagleray/raftstate/internal/blocks"
	"github.com/eagleray/eagleray/raftstate/internal/classes"
)

// The header of a snapshot.
const (
	imageMagic  = "eagleray"
	imageHeader = len(imageMagic) + 4
)

// packed returns a snapshot with these records, whose checksums are right.
func packed(t testing.TB, records []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	b, err := blocks.NewWriter(&out, binary.LittleEndian.AppendUint32([]byte(imageMagic), layoutFor(0)))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write(records)
	if err := errors.Join(err, z.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rawRecord is a record as it is written.
func rawRecord(t testing.TB, kind, version uint64, body any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	if err := errors.Join(e.EncodeUint(kind), e.EncodeUint(version), e.Encode(body)); err != nil {
		t.Fatal(err)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
}

// recordsOf returns the records of a machine's snapshot.
func recordsOf(t testing.TB, m *Machine) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := imageFormat.WriteRecords(&b, m.writeRecords); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// machineOf makes a machine of the records of a snapshot.
func machineOf(records []byte) (*Machine, error) {
	b := newImageBuilder()
	if err := imageFormat.ReadRecords(bytes.NewReader(records), b.take); err != nil {
		return nil, err
	}
	return b.finish()
}

// randomMachine has something of everything.
func randomMachine(seed uint64, commands int) *Machine {
	m := NewMachine()
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range uint64(commands) {
		m.Apply(i+1, Command{Request: RequestID{Client: Client{byte(r.IntN(5))}, Seq: r.Uint64N(99) + 1}, Body: randomBody(r)})
	}
	return m
}

func TestReadSnapshot_CutOrFlippedAnywhere_IsRefused(t *testing.T) {
	good := snapshot(t, randomMachine(1, 300))
	for cut := range good {
		if _, err := ReadSnapshot(bytes.NewReader(good[:cut])); !errors.Is(err, ErrDamagedSnapshot) {
			t.Fatalf("cut at %d of %d: got %v", cut, len(good), err)
		}
	}
	for at := range good {
		for _, bits := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[at] ^= bits
			_, err := ReadSnapshot(bytes.NewReader(bad))
			if !errors.Is(err, ErrDamagedSnapshot) && !(at >= len(imageMagic) && at < imageHeader && errors.Is(err, ErrNewerSnapshot)) {
				t.Fatalf("byte %d of %d with the bits %x flipped: got %v", at, len(good), bits, err)
			}
		}
	}
	for _, more := range [][]byte{{0}, good, {0, 0, 0, 0, 0, 0, 0, 0}} {
		if _, err := ReadSnapshot(bytes.NewReader(append(bytes.Clone(good), more...))); !errors.Is(err, ErrDamagedSnapshot) {
			t.Errorf("%d bytes after the end: got %v", len(more), err)
		}
	}
}

// Blocks that are whole in themselves, but not where they were written.
func TestReadSnapshot_BlocksMissingOrExchanged_IsRefused(t *testing.T) {
	m := NewMachine()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 4 {
		noise := make([]byte, 100_000) // does not compress
		for j := range noise {
			noise[j] = byte(r.Uint32())
		}
		m.Apply(uint64(i+1), Command{Body: &KVPut{"ns", fmt.Sprint(i), noise, true}})
	}
	good := snapshot(t, m)
	const blockHead = 8
	var list [][]byte
	for at := imageHeader; at < len(good); {
		end := at + blockHead + int(binary.LittleEndian.Uint32(good[at:]))
		list = append(list, good[at:end])
		at = end
	}
	if len(list) < 4 {
		t.Fatalf("the snapshot has %d blocks", len(list))
	}
	join := func(order ...int) []byte {
		b := bytes.Clone(good[:imageHeader])
		for _, i := range order {
			b = append(b, list[i]...)
		}
		return b
	}
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	if !bytes.Equal(join(all...), good) {
		t.Fatal("the test does not find the blocks")
	}
	for what, order := range map[string][]int{
		"the first one is missing": all[1:], "the second one is missing": append([]int{0}, all[2:]...), "the second one comes twice": append([]int{0, 1}, all[1:]...),
		"two are exchanged": append([]int{1, 0}, all[2:]...), "only the end": all[len(all)-1:],
	} {
		if _, err := ReadSnapshot(bytes.NewReader(join(order...))); !errors.Is(err, ErrDamagedSnapshot) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestReadSnapshot_OfANewerVersion_SaysSo(t *testing.T) {
	start := rawRecord(t, uint64(imageStart), 1, map[string]any{"index": 1})
	end := rawRecord(t, uint64(imageEnd), 1, map[string]any{"records": 2})
	layout := bytes.Clone(snapshot(t, NewMachine()))
	layout[len(imageMagic)]++
	for want, data := range map[string][]byte{
		"its layout has version 3":                              layout,
		"a record of kind 99, which this version does not know": packed(t, append(append(bytes.Clone(start), rawRecord(t, 99, 1, nil)...), end...)),
		"a record of kind 8 in version 2":                       packed(t, append(bytes.Clone(start), rawRecord(t, uint64(imageKV), 2, nil)...)),
	} {
		_, err := ReadSnapshot(bytes.NewReader(data))
		if !errors.Is(err, ErrNewerSnapshot) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Start this head with that version") {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestReadSnapshot_NewFieldsOfKnownRecords_AreLeftOut(t *testing.T) {
	var records []byte
	add := func(kind imageKind, body map[string]any) {
		records = append(records, rawRecord(t, uint64(kind), 1, body)...)
	}
	add(imageStart, map[string]any{"index": 7, "later": []int{1}})
	add(imageNode, map[string]any{"id": ids.Node{1}, "later": map[string]any{"a": 1}, "name": "one"})
	add(imageKV, map[string]any{"ns": "ns", "k": "key", "v": []byte("value"), "later": true})
	add(imageEnd, map[string]any{"records": 3, "later": nil})
	m, err := ReadSnapshot(bytes.NewReader(packed(t, records)))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := m.kv["ns"]["key"]; !ok || string(v.Data) != "value" || m.index != 7 || m.nodes[ids.Node{1}].Name != "one" {
		t.Errorf("got %+v", m)
	}
}

func TestReadSnapshot_RecordsThatMakeNoState_AreRefused(t *testing.T) {
	start := rawRecord(t, uint64(imageStart), 1, map[string]any{"index": 1})
	end := func(n int) []byte { return rawRecord(t, uint64(imageEnd), 1, map[string]any{"records": n}) }
	node := rawRecord(t, uint64(imageNode), 1, map[string]any{"id": ids.Node{1}})
	job := rawRecord(t, uint64(imageJob), 1, map[string]any{"id": ids.JobOf(1)})
	actor := rawRecord(t, uint64(imageActor), 1, &record.Actor{ID: ids.Actor{1}, Code: []ids.Object{{4}}})
	lone := rawRecord(t, uint64(imageActor), 1, &record.Actor{ID: ids.Actor{1}})
	part := rawRecord(t, uint64(imagePart), 1, &classes.ImagePart{Object: ids.Object{4}, Size: 3, Data: []byte("ab")})
	asker := rawRecord(t, uint64(imageAsker), 1, &answered.ImageClient[Result]{ID: Client{1}, Results: []answered.ImageResult[Result]{{Seq: 2}, {Seq: 2}}})
	client := rawRecord(t, uint64(imageAsker), 1, &answered.ImageClient[Result]{ID: Client{1}})
	group := rawRecord(t, uint64(imageGroup), 1, &record.Group{ID: ids.Group{1}, State: record.GroupRemoved})
	gone := rawRecord(t, uint64(imageRemovedGroups), 1, &imageGroups{[]ids.Group{{1}}})
	list := func(records ...[]byte) []byte { return bytes.Join(records, nil) }
	for what, records := range map[string][]byte{
		"nothing":                   nil,
		"no end":                    list(start, node),
		"no start":                  list(node, end(1)),
		"two starts":                list(start, start, end(2)),
		"a wrong count":             list(start, node, end(1)),
		"a node twice":              list(start, node, node, end(3)),
		"a job twice":               list(start, job, job, end(3)),
		"an actor twice":            list(start, lone, lone, end(3)),
		"an actor whose code lacks": list(start, actor, end(2)),
		"more code than its size":   list(start, part, part, end(3)),
		"results out of order":      list(start, asker, end(2)),
		"a client twice":            list(start, client, client, end(3)),
		"a group twice":             list(start, group, group, end(3)),
		"a removed group lacks":     list(start, gone, end(2)),
		"another body":              list(start, []byte{3, 0, 0, 0, 2, 1, 7}),
	} {
		if _, err := ReadSnapshot(bytes.NewReader(packed(t, records))); !errors.Is(err, ErrDamagedSnapshot) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := ReadSnapshot(bytes.NewReader(packed(t, list(start, lone, group, gone, end(4))))); err != nil {
		t.Errorf("what makes a state: got %v", err)
	}
	block := append(bytes.Clone(snapshot(t, NewMachine())[:imageHeader]), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
	if _, err := ReadSnapshot(bytes.NewReader(block)); !errors.Is(err, ErrDamagedSnapshot) || !strings.Contains(err.Error(), "at most 1048576") {
		t.Errorf("too long a block: got %v", err)
	}
}

// An error of the disk is no damage of the snapshot.
func TestReadSnapshot_ReadFails_SaysWhy(t *testing.T) {
	good := snapshot(t, randomMachine(1, 300))
	for _, cut := range []int{0, 3, imageHeader, imageHeader + 3, len(good) / 2, len(good) - 1, len(good)} {
		_, err := ReadSnapshot(io.MultiReader(bytes.NewReader(good[:cut]), iotest.ErrReader(errDisk)))
		if !errors.Is(err, errDisk) || errors.Is(err, ErrDamagedSnapshot) {
			t.Errorf("after %d bytes: got %v", cut, err)
		}
	}
}

// watched is a sink that looks how much memory is in use while a snapshot goes through it.
type watched struct {
	out     io.Writer
	written int
	most    uint64
}

func (w *watched) Write(p []byte) (int, error) {
	if w.written/(4<<20) != (w.written+len(p))/(4<<20) {
		w.most = max(w.most, inUse())
	}
	w.written += len(p)
	return w.out.Write(p)
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A state of 96 MiB goes to a file and comes back with little more memory than its own.
func TestSnapshot_LargeState_TakesNoMemoryOfItsOwn(t *testing.T) {
	const values, size, room = 48, 2 << 20, 24 << 20
	f, err := os.Create(t.TempDir() + "/snapshot")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	empty := inUse()
	func() {
		m := NewMachine()
		r := rand.New(rand.NewPCG(1, 1))
		for i := range uint64(values) {
			noise := make([]byte, size)
			for j := 0; j < size; j += 8 {
				binary.LittleEndian.PutUint64(noise[j:], r.Uint64())
			}
			m.Apply(i+1, Command{Body: &KVPut{"ns", fmt.Sprint(i), noise, true}})
		}
		before := inUse()
		w := &watched{out: f}
		if err := m.WriteSnapshot(w); err != nil {
			t.Fatal(err)
		}
		if w.written < values*size || w.most > before+room {
			t.Errorf("%d bytes were written, with %d MiB of memory", w.written, (w.most-before)>>20)
		}
		t.Logf("%d MiB were written with %d MiB of memory", w.written>>20, (int64(w.most)-int64(before))>>20)
		runtime.KeepAlive(m)
	}()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	most := uint64(0)
	counted := &watched{out: io.Discard}
	m, err := ReadSnapshot(io.TeeReader(f, counted))
	if err != nil {
		t.Fatal(err)
	}
	most = counted.most
	if n := len(m.KVKeys("ns", "")); n != values || most < empty+values*size/2 || most > empty+values*size+room {
		t.Errorf("%d values were read, with %d MiB of memory", n, (most-empty)>>20)
	}
	t.Logf("%d MiB were read with %d MiB of memory", counted.written>>20, (most-empty)>>20)
}

// FuzzReadSnapshot reads any file.
func FuzzReadSnapshot(f *testing.F) {
	f.Add(snapshot(f, NewMachine()))
	f.Add(snapshot(f, randomMachine(1, 100)))
	first, err := os.ReadFile(firstSnapshot)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(first)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadSnapshot(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrDamagedSnapshot) && !errors.Is(err, ErrNewerSnapshot) {
				t.Errorf("it is neither damaged nor of a newer version: %v", err)
			}
			return
		}
		restored(t, m)
	})
}

// FuzzReadRecords reads any records, as they are within blocks and compression: nothing but the records' own checks is
// between them and the machine.
func FuzzReadRecords(f *testing.F) {
	f.Add(recordsOf(f, NewMachine()))
	f.Add(recordsOf(f, randomMachine(1, 100)))
	f.Add(recordsOf(f, firstMachine()))
	f.Fuzz(func(t *testing.T, records []byte) {
		m, err := machineOf(records)
		if err != nil {
			if !errors.Is(err, ErrDamagedSnapshot) && !errors.Is(err, ErrNewerSnapshot) {
				t.Errorf("it is neither damaged nor of a newer version: %v", err)
			}
			return
		}
		written := recordsOf(t, m)
		if again, err := machineOf(written); err != nil || !bytes.Equal(recordsOf(t, again), written) {
			t.Errorf("it is another one after a restore (%v)", err)
		}
	})
}

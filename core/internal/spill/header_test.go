package spill

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"testing"
	"time"

	"github.com/eagleray/eagleray/tests/await"
)

// The header on disk has the form that record.go describes.
func TestRecord_Header_OnDisk(t *testing.T) {
	s := open(t, Options{})
	rs, err := s.Write([]Item{item(7, noise(1, 5000)), item(8, text(9000))})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(rs[0].Path())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		h := file[r.at : r.at+headerSize]
		stored := file[r.at+headerSize:][:r.stored]
		table := crc32.MakeTable(crc32.Castagnoli)
		if string(h[:4]) != "ErS1" || h[4] != byte(i) || string(h[8:36]) != string(r.id[:]) || binary.LittleEndian.Uint64(h[40:]) != []uint64{5000, 9000}[i] ||
			binary.LittleEndian.Uint64(h[48:]) != uint64(len(stored)) || binary.LittleEndian.Uint32(h[56:]) != crc32.Checksum(stored, table) ||
			binary.LittleEndian.Uint32(h[60:]) != crc32.Checksum(h[:60], table) {
			t.Errorf("record %d: header % x", i, h)
		}
		if r.at%recordAlign != 0 || r.Size() != []uint64{5000, 9000}[i] || r.Stored() != uint64(len(stored)) || r.compressed != (i == 1) || !r.Cached() {
			t.Errorf("record %d: %+v", i, r)
		}
		path, off, ok := r.Raw()
		if path != r.Path() || off != uint64(r.at)+headerSize || ok != (i == 0) {
			t.Errorf("record %d lies at %s:%d, %v", i, path, off, ok)
		}
	}
}

// removals is a file system that removes files when it is told to.
type removals struct {
	Disk
	begun, goOn chan struct{}
}

func (r *removals) Remove(path string) error {
	close(r.begun)
	<-r.goOn
	return r.Disk.Remove(path)
}

// Close lets a removal that is on its way come to its end before the directory
// goes, and does not wait for a disk that hangs.
func TestStore_Close_AfterWhatIsOnItsWay(t *testing.T) {
	fs := &removals{begun: make(chan struct{}), goOn: make(chan struct{})}
	s := open(t, Options{FS: fs, Roots: []string{t.TempDir()}})
	path, err := s.NewFile(10, true)
	if err != nil {
		t.Fatal(err)
	}
	s.Remove(path)
	select {
	case <-fs.begun:
	case <-time.After(await.Limit):
		t.Fatal("the removal does not begin")
	}
	s.Close(50 * time.Millisecond)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the directory went while a removal was on its way: %v", err)
	}
	close(fs.goOn)
	awaitNoDir(t, s)
}

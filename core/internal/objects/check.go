package objects

import "github.com/eagleray/eagleray/core/ids"

// Missing returns those of the objects that are not in the store. An object that
// its owner has freed counts as missing although a process may still look at it,
// for it may go at any moment. An object that is still being written does not:
// whoever asks for it gets it, also when its owner has freed it.
func (t *Table) Missing(list [][]byte) [][]byte {
	var out [][]byte
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		if o := t.table[id]; o == nil || o.over() {
			out = append(out, raw)
		}
	}
	return out
}

// copyOnDisk is an object whose only copy is on disk, and that copy.
type copyOnDisk struct {
	o    *object
	copy diskCopy
}

// onlyOnDisk returns those of the objects that are only on disk and that nobody
// reads.
func (t *Table) onlyOnDisk(list [][]byte) (out []copyOnDisk) {
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		if o := t.table[id]; o != nil && o.onlyOnDisk() {
			out = append(out, copyOnDisk{o, o.disk})
		}
	}
	return out
}

// stillThere reports whether the object is in the table and that copy is still its
// only copy.
func (t *Table) stillThere(x copyOnDisk) bool {
	return t.table[x.o.id] == x.o && x.o.onlyOnDisk() && x.o.disk == x.copy
}

package daemon

import (
	"errors"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// diskChecks is how many questions at a time may look at disks: one that hangs
// holds those that look at it, and the others are answered from the table.
const diskChecks = 4

var errFileGone = errors.New("its copy on disk is gone")

// onDisk is an object whose only copy is on disk, and that copy.
type onDisk struct {
	o    *object
	copy diskCopy
}

// rests reports whether the object is only on disk and nobody reads it.
func (o *object) rests() bool { return o.away && o.moving == still && o.pins == 0 }

// onlyOnDisk returns those of the objects that are only on disk and rest there.
func (t *objects) onlyOnDisk(list [][]byte) (out []onDisk) {
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		if o := t.table[id]; o != nil && o.rests() {
			out = append(out, onDisk{o, o.disk})
		}
	}
	return out
}

// answerCheck says which of the objects the store has not: a file that somebody
// has deleted is noticed here, before a reader needs it. mu held on entry and exit.
func (d *Daemon) answerCheck(m *wire.Message, list [][]byte) {
	away := d.objects.onlyOnDisk(list)
	if len(away) == 0 || d.diskChecks.Add(1) > diskChecks {
		if len(away) > 0 {
			d.diskChecks.Add(-1)
		}
		_ = m.Reply(wire.ObjRefs{ObjectIDs: d.objects.lacks(list)})
		return
	}
	go func() {
		defer d.diskChecks.Add(-1)
		var gone []onDisk
		for _, x := range away {
			if r, ok := x.copy.(interface{ Gone() bool }); ok && r.Gone() {
				gone = append(gone, x)
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, x := range gone {
			if o := x.o; d.objects.table[o.id] == o && o.rests() && o.disk == x.copy {
				d.log.Warn("a spilled object is lost", "object", o.id.String(), "error", errFileGone)
				d.objects.loseDisk(o, errFileGone)
			}
		}
		_ = m.Reply(wire.ObjRefs{ObjectIDs: d.objects.lacks(list)})
	}()
}

package daemon

import "time"

// tally counts what left the arena and came back.
type tally struct {
	files, onDisk          int // objects now
	fileBytes, onDiskBytes uint64

	// Since the start:
	spills, restores         uint64
	spillBytes, restoreBytes uint64
	spillStored              uint64 // bytes on disk, after compression
	spillFiles               uint64
	spillTime, restoreTime   time.Duration // in which at least one was on its way, summed over those
}

// counters are for people and tools; docs/protocol.md.
func (t *objects) counters() map[string]uint64 {
	return map[string]uint64{
		"spilled_objects": uint64(t.onDisk), "spilled_bytes": t.onDiskBytes,
		"file_objects": uint64(t.files), "file_bytes": t.fileBytes,
		"waiting":     uint64(t.waiting),
		"spill_bytes": t.spillBytes, "spill_objects": t.spills, "spill_files": t.spillFiles,
		"spill_ms": uint64(t.spillTime.Milliseconds()), "spill_stored_bytes": t.spillStored,
		"restore_bytes": t.restoreBytes, "restore_objects": t.restores, "restore_ms": uint64(t.restoreTime.Milliseconds()),
	}
}

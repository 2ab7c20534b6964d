package objects

import "time"

// counters count what left the arena and what came back.
type counters struct {
	files, onDisk          int // objects now
	fileBytes, onDiskBytes uint64

	// Since the start:
	spills, restores         uint64
	spillBytes, restoreBytes uint64
	spillStored              uint64 // bytes on disk, after compression
	spillFiles               uint64
	spillTime, restoreTime   time.Duration // during which at least one order of that kind was under way
}

// named returns the counters under the names that docs/protocol.md lists.
func (k *counters) named() map[string]uint64 {
	return map[string]uint64{
		"spilled_objects": uint64(k.onDisk), "spilled_bytes": k.onDiskBytes,
		"file_objects": uint64(k.files), "file_bytes": k.fileBytes,
		"spill_bytes": k.spillBytes, "spill_objects": k.spills, "spill_files": k.spillFiles,
		"spill_ms": uint64(k.spillTime.Milliseconds()), "spill_stored_bytes": k.spillStored,
		"restore_bytes": k.restoreBytes, "restore_objects": k.restores, "restore_ms": uint64(k.restoreTime.Milliseconds()),
	}
}

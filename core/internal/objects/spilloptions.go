package objects

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// SpillOptions say where objects go for which the arena has no room. Zero stands
// for the default.
type SpillOptions struct {
	Off       bool          // nothing is written to disk
	Roots     []string      // directories; none: the session's
	Threshold float64       // part of the arena in use from which on objects are written ahead
	Full      float64       // part of a file system in use from which on nothing is written to it
	MinBytes  uint64        // so many bytes are written together, if there are as many
	Readers   int           // so many objects are read from disk at a time
	Grace     time.Duration // how long a request waits for pins to go before it gets a file
	Cache     float64       // part of the available memory in which the page cache may keep what is spilled
	FS        spill.FS      // nil: the machine's
}

// Defaults of SpillOptions.
const (
	spillThreshold = 0.8
	spillFull      = 0.95
	spillMinBytes  = 16 << 20
	spillReaders   = 8
	spillGrace     = 100 * time.Millisecond
)

func (o SpillOptions) withDefaults() SpillOptions {
	if o.Threshold == 0 {
		o.Threshold = spillThreshold
	}
	if o.Full == 0 {
		o.Full = spillFull
	}
	if o.MinBytes == 0 {
		o.MinBytes = spillMinBytes
	}
	if o.Readers == 0 {
		o.Readers = spillReaders
	}
	if o.Grace == 0 {
		o.Grace = spillGrace
	}
	if o.Cache == 0 {
		o.Cache = spillCache
	}
	return o
}

// cacheBytes returns how much the page cache may keep of what is spilled.
func (o SpillOptions) cacheBytes() func() uint64 {
	return shareOf(machine.Here().MemoryAvailable, o.Cache)
}

// SpillError says which of the directories that were asked for cannot be used.
type SpillError struct{ error }

func (e *SpillError) Unwrap() error { return e.error }

// spilledName is the file of a session that says to which directories it spills.
const spilledName = "spilled"

// SweepSpilled removes what a session whose daemon was killed has spilled. What is still in use stays.
func SweepSpilled(session string) {
	name := filepath.Join(session, spilledName)
	b, err := os.ReadFile(name)
	if err != nil {
		return
	}
	all := true
	for dir := range strings.Lines(string(b)) {
		err := spill.SweepDir(strings.TrimSuffix(dir, "\n"))
		all = all && (err == nil || errors.Is(err, fs.ErrNotExist))
	}
	if all {
		os.Remove(name)
	}
}

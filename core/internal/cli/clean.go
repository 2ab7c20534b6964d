package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/eagleray/eagleray/core/internal/sessiondir"
)

// A session that `stop` ended leaves its folder, for its logs. The latest ones
// stay, as many as both limits allow.
const (
	keptSessions = 10
	keptBytes    = 512 << 20
)

// endedName is the file that says that a session has ended and its folder may go.
const endedName = "ended"

var cleanOptions = append([]option{
	{name: "--keep", value: "N", about: "how many of the latest folders to keep (default: 0)"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
}, logOptions...)

// runClean removes what sessions that have ended left behind.
func runClean(args []string, out, _ io.Writer) error {
	if askedHelp("clean", cleanOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("clean", cleanOptions, args)
	if err != nil {
		return err
	}
	keep := 0
	if v := flags["--keep"]; v != "" {
		if keep, err = strconv.Atoi(v); err != nil || keep < 0 {
			return usage("clean: --keep: %q is not a number of folders", v)
		}
	}
	base, err := ownBase(flags)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	sessiondir.SweepStale(base)
	markKilled(base)
	n, bytes, err := prune(base, keep, 1<<62)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Removed the folders of %s (%.1f MB) below %s\n", count(n, "ended session"), float64(bytes)/1e6, base)
	return nil
}

// leftover is the folder of a session that has ended.
type leftover struct {
	dir   string
	ended time.Time
	bytes int64
}

// prune removes folders of ended sessions, the oldest first, until as many and as much are left as allowed. The latest
// stays however large it is, unless none may stay.
func prune(base string, keep int, most int64) (removed int, bytes int64, err error) {
	found, err := leftovers(base)
	if err != nil {
		return 0, 0, err
	}
	slices.SortFunc(found, func(a, b leftover) int { return b.ended.Compare(a.ended) })
	var problems []error
	all := int64(0)
	for i, l := range found {
		all += l.bytes
		if i < keep && (i == 0 || all <= most) {
			continue
		}
		if err := os.RemoveAll(l.dir); err != nil {
			problems = append(problems, fmt.Errorf("remove the folder of an ended session: %w", err))
			continue
		}
		removed++
		bytes += l.bytes
	}
	return removed, bytes, errors.Join(problems...)
}

func leftovers(base string) (found []leftover, err error) {
	dirs, err := filepath.Glob(filepath.Join(base, "s-*"))
	if err != nil {
		return nil, fmt.Errorf("list the sessions below %s: %w", base, err)
	}
	for _, dir := range dirs {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			continue
		}
		st, err := os.Lstat(filepath.Join(dir, endedName))
		if err != nil {
			continue // it lives, or is being made
		}
		l := leftover{dir: dir, ended: st.ModTime()}
		_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				if info, err := entry.Info(); err == nil {
					l.bytes += info.Size()
				}
			}
			return nil // what cannot be read is counted as nothing
		})
		found = append(found, l)
	}
	return found, nil
}

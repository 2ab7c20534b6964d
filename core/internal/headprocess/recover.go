package headprocess

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/raftlog"
	"github.com/eagleray/eagleray/raftstate"
)

// Recover makes the head that has a folder the only one of its cluster, while it does not run. Without sure it only says what that would give up.
func Recover(folder string, sure bool, out io.Writer) error {
	f, err := headgroup.ReadFile(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return process.NewBadConfig(fmt.Errorf("%s is no folder of a head's state: it has no %s", folder, headgroup.FileName))
	}
	if err != nil {
		return err
	}
	self, err := f.Self()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	dir, err := raftlog.Open(folder, raftlog.Options{Log: log})
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	defer closeStored(dir, log)
	st, err := raftstate.Inspect(dir.ID(), dir.Stores())
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	fmt.Fprintf(out, "%s is the folder of head %d of cluster %s, generation %d.\nIts log ends with entry %d, written in term %d. The head with the highest term, and of those the one with the highest entry, loses least.\n",
		folder, self.Number, self.Cluster, self.Generation, st.Index, st.Term)
	var gone []string
	voters := 0
	for _, m := range st.Members {
		if m.Voter {
			voters++
		}
		if m.ID != dir.ID() {
			gone = append(gone, describe(f.Heads, m))
		}
	}
	if len(gone) == 0 { // unless an earlier recovery was interrupted, there are no others
		for _, h := range f.Heads {
			if h.ID != dir.ID() {
				gone = append(gone, describe(f.Heads, raftstate.Member{ID: h.ID}))
			}
		}
	}
	if f.Removed {
		fmt.Fprintln(out, "This head was removed from its cluster. Do this only if the heads that have stayed are lost for good: what they have changed since then is not in this folder.")
	}
	if len(gone) == 0 && !f.Removed {
		fmt.Fprintln(out, "It is the only head already: start it with `eagleray start --head`, there is nothing to recover.")
		return nil
	}
	if len(gone) > 0 {
		fmt.Fprintf(out, "These heads are given up for good: %s.\nThey are refused from then on, also if they come back. Changes of the state that %d of the %d voters had confirmed, and that this head has not got, are lost: an actor, a name or a value may be missing.\n",
			strings.Join(gone, ", "), voters/2+1, voters)
	}
	sayLacking(out, filepath.Join(folder, blobs.Folder), st.Blobs)
	if !sure {
		fmt.Fprintln(out, "Nothing was changed. To do it, give --yes.")
		return nil
	}
	// The head writes its own setting anew when it starts. The one that is there may say that it is being removed.
	if err := raftstate.Recover(dir.ID(), dir.Stores(), headgroup.IsSetting); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	self.Generation++
	f.Identity = self.String()
	var kept []linkmsg.HeadAt
	for _, h := range f.Heads {
		if h.ID == dir.ID() {
			kept = append(kept, h)
		}
	}
	f.Heads, f.Removed = kept, false
	if err := f.Write(folder); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	fmt.Fprintf(out, "Head %d is the only head now, in generation %d. Start it with `eagleray start --head --state-dir=%s`, and further ones with empty folders and --address.\n", self.Number, self.Generation, folder)
	return nil
}

// maxLacking is how many large values that a head lacks are listed.
const maxLacking = 20

// sayLacking says which large values of the state a head does not have, and what that means.
func sayLacking(out io.Writer, folder string, list []raftstate.NamedBlob) {
	var lacks []raftstate.NamedBlob
	for _, b := range list {
		if blobs.Check(folder, b.Blob) != nil {
			lacks = append(lacks, b)
		}
	}
	if len(lacks) == 0 {
		return
	}
	fmt.Fprintf(out, "Of the %d large values that its state names, this head lacks %d or has damaged files of them. No other head can give them any more, so what needs them fails with an error that names them, until it is deleted or written anew:\n", len(list), len(lacks))
	for _, b := range lacks[:min(len(lacks), maxLacking)] {
		fmt.Fprintf(out, "  %s: %s\n", b.Blob, strings.Join(b.Uses[:min(len(b.Uses), maxLacking)], "; "))
	}
	if len(lacks) > maxLacking {
		fmt.Fprintf(out, "  and %d more\n", len(lacks)-maxLacking)
	}
	fmt.Fprintf(out, "If the folder of another head can still be read, copy the files that are missing from its subfolder %s first. They are named by their hashes.\n", blobs.Folder)
}

// describe names a head with where it was.
func describe(list []linkmsg.HeadAt, m raftstate.Member) string {
	for _, h := range list {
		if h.ID == m.ID {
			return fmt.Sprintf("head %d at %s", h.Number, strings.Join(h.Addresses, ", "))
		}
	}
	return "the head with the name " + m.ID
}

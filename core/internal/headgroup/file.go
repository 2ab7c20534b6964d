package headgroup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// FileName is the file in the folder of a head's state with what it must know before it has read the state.
const FileName = "head.json"

// maxFile bounds the file.
const maxFile = 256 << 10

// File is what a head knows before it has read its state.
type File struct {
	Identity string           `json:"identity"`          // pki.Identity.String
	Keys     []byte           `json:"keys,omitempty"`    // the keyring of the cluster, sealed with its tokens
	Heads    []linkmsg.HeadAt `json:"heads"`             // this one among them
	Removed  bool             `json:"removed,omitempty"` // this head belongs to the cluster no more
}

// Self is the identity in the file.
func (f *File) Self() (pki.Identity, error) { return pki.ParseIdentity(f.Identity) }

// ReadFile reads the file in a folder. Without one the error is fs.ErrNotExist.
func ReadFile(dir string) (*File, error) {
	path := filepath.Join(dir, FileName)
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes: it is not what a head has written", path, maxFile)
	}
	f := &File{}
	if err = json.Unmarshal(b, f); err == nil {
		if _, err = f.Self(); err == nil {
			err = linkmsg.CheckHeads(f.Heads)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w. If the cluster has other heads, remove this folder, and let the head join again as a new one", path, err)
	}
	return f, nil
}

// Write replaces the file in a folder, in one step.
func (f *File) Write(dir string) error {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, FileName)
	if err := writeSynced(path+".new", append(b, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func writeSynced(path string, b []byte) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return errors.Join(err, out.Sync(), out.Close())
}

package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// unpacker is one run of Unpack.
type unpacker struct {
	root  *os.Root
	in    *tar.Reader
	bytes int64
	count int
	seen  map[string]bool // each path, and whether it is a folder
}

// Unpack makes files of a stream in a folder, which must exist and be empty. When it fails, part of the files may be there.
func Unpack(r io.Reader, into string) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	u := &unpacker{root: root, in: tar.NewReader(io.LimitReader(r, MaxStream)), seen: map[string]bool{".": true}}
	for {
		h, err := u.in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = u.entry(h)
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}
}

func (u *unpacker) entry(h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	if err := u.place(name); err != nil {
		return err
	}
	u.seen[name] = h.Typeflag == tar.TypeDir
	switch h.Typeflag {
	case tar.TypeDir:
		return u.root.Mkdir(name, 0o755)
	case tar.TypeSymlink:
		if err := staysInside(name, h.Linkname); err != nil {
			return err
		}
		return u.root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		return u.file(name, h)
	}
	return fmt.Errorf("%.200q: entries of type %q are not allowed", name, h.Typeflag)
}

// place checks where an entry lies.
func (u *unpacker) place(name string) error {
	if u.count++; u.count > MaxEntries {
		return fmt.Errorf("more than %d entries: %w", MaxEntries, ErrTooLarge)
	}
	switch {
	case len(name) > maxName || name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("%.200q is no path below the folder", name)
	case strings.Count(name, "/") > maxDepth+1:
		return fmt.Errorf("%.200q lies too deep", name)
	case !u.seen[path.Dir(name)]:
		return fmt.Errorf("%.200q lies in no folder that came before it", name)
	}
	if _, twice := u.seen[name]; twice {
		return fmt.Errorf("%.200q comes twice", name)
	}
	return nil
}

// staysInside checks a symlink. Where ".." comes only first, a target cannot leave the folder by way of other symlinks: the symlink's own
// folder is a real one, and all symlinks below keep the same rule.
func staysInside(name, target string) error {
	bad := fmt.Errorf("the symlink %.200q leads to %.200q, and must lead to a place below the folder", name, target)
	if target == "" || len(target) > maxName || path.IsAbs(target) || path.Clean(target) != target {
		return bad
	}
	if to := path.Join(path.Dir(name), target); to == ".." || strings.HasPrefix(to, "../") {
		return bad
	}
	return nil
}

func (u *unpacker) file(name string, h *tar.Header) error {
	if h.Size < 0 || h.Size > MaxBytes-u.bytes {
		return fmt.Errorf("%.200q: more than %d bytes: %w", name, MaxBytes, ErrTooLarge)
	}
	u.bytes += h.Size
	mode := os.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, u.in)
	if err == nil && n != h.Size {
		err = fmt.Errorf("%.200q has %d bytes, not %d", name, n, h.Size)
	}
	return errors.Join(err, f.Close())
}

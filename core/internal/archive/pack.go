package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of what is packed and unpacked.
const (
	// MaxBytes caps the contents of all files together.
	MaxBytes = 512 << 20
	// MaxEntries caps the number of files, folders and symlinks.
	MaxEntries = 250_000
	// MaxStream caps the whole stream: contents, names and padding.
	MaxStream = 1 << 30

	maxName   = 4096 // bytes of a path
	maxIgnore = 1 << 20
	maxDepth  = 256
)

// ErrTooLarge says that a folder exceeds MaxBytes or MaxEntries. The text around it names the folder.
var ErrTooLarge = errors.New("too large")

// Options say what Pack takes.
type Options struct {
	// Named puts what is packed under its own name. Else the contents of the folder are at the top.
	Named       bool
	Excludes    []string // patterns with the syntax of .gitignore
	NoGitignore bool     // .gitignore files exclude nothing
}

// packer is one run of Pack.
type packer struct {
	Options
	given string // as the user wrote it
	root  string // without symlinks
	out   *tar.Writer
	bytes int64
	count int
}

// Pack writes the folder or file at the path. It returns the number of bytes that the files have.
func Pack(w io.Writer, from string, o Options) (int64, error) {
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return 0, err
	}
	p := &packer{Options: o, given: from, root: root, out: tar.NewWriter(w)}
	name := ""
	if o.Named || !info.IsDir() {
		name = filepath.Base(from)
	}
	if info.IsDir() {
		err = p.folder(root, name, "", []rules{newRules("", o.Excludes)}, nil)
	} else {
		err = p.file(root, name, info)
	}
	if err == nil {
		err = p.out.Close()
	}
	return p.bytes, err
}

// folder packs a folder. Name is its path in the stream, and below its path relative to the root; above are the real paths of the folders that it is in.
func (p *packer) folder(real, name, below string, lists []rules, above []string) error {
	if slices.Contains(above, real) {
		return fmt.Errorf("pack %s: the symlink at %s leads to a folder above itself: remove it or exclude it", p.given, below)
	}
	if len(above) >= maxDepth {
		return fmt.Errorf("pack %s: %s lies more than %d folders deep", p.given, below, maxDepth)
	}
	above = append(slices.Clip(above), real)
	if name != "" {
		if err := p.header(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}); err != nil {
			return err
		}
	}
	lists, err := p.withIgnoreFiles(real, below, lists)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return fmt.Errorf("pack %s: %w", p.given, err)
	}
	for _, e := range entries {
		if err := p.entry(real, path.Join(name, e.Name()), path.Join(below, e.Name()), e, lists, above); err != nil {
			return err
		}
	}
	return nil
}

// entry packs what a folder has under one name.
func (p *packer) entry(in, name, below string, e fs.DirEntry, lists []rules, above []string) error {
	at := filepath.Join(in, e.Name())
	info, err := os.Stat(at) // of what a symlink leads to
	folder := err == nil && info.IsDir()
	for i := range lists {
		if lists[i].excludes(below, folder) {
			return nil
		}
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if err != nil {
			return nil // it leads nowhere
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			return fmt.Errorf("pack %s: %w", p.given, err)
		}
		if inside(p.root, real) && inside(p.root, in) {
			return p.symlink(in, real, name)
		}
		at = real
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was removed just now
	case err != nil:
		return fmt.Errorf("pack %s: %w", p.given, err)
	case folder:
		return p.folder(at, name, below, lists, above)
	case info.Mode().IsRegular():
		return p.file(at, name, info)
	}
	return nil
}

// symlink packs a symlink in a folder to another place below the root.
func (p *packer) symlink(in, to, name string) error {
	target, err := filepath.Rel(in, to)
	if err != nil {
		return fmt.Errorf("pack %s: %w", p.given, err)
	}
	return p.header(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
}

// file packs a file. What is written to the file meanwhile is not taken.
func (p *packer) file(at, name string, info fs.FileInfo) error {
	f, err := os.Open(at)
	if err != nil {
		return fmt.Errorf("pack %s: %w", p.given, err)
	}
	defer f.Close()
	size := info.Size()
	if p.bytes += size; p.bytes > MaxBytes {
		return fmt.Errorf("pack %s: it has more than %d MiB, the last of them in %s: %w. Leave out what tasks do not need with a .gitignore file or runtime_env={\"excludes\": [...]}, or put large files where all nodes can read them", p.given, MaxBytes>>20, name, ErrTooLarge)
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := p.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode}); err != nil {
		return err
	}
	if n, err := io.Copy(p.out, io.LimitReader(f, size)); err != nil {
		return fmt.Errorf("pack %s: %s: %w", p.given, name, err)
	} else if n < size {
		return fmt.Errorf("pack %s: %s became shorter while it was read: exclude files that change", p.given, name)
	}
	return nil
}

func (p *packer) header(h *tar.Header) error {
	if p.count++; p.count > MaxEntries {
		return fmt.Errorf("pack %s: it has more than %d files and folders: %w. Leave out what tasks do not need with a .gitignore file or runtime_env={\"excludes\": [...]}", p.given, MaxEntries, ErrTooLarge)
	}
	if len(h.Name) > maxName {
		return fmt.Errorf("pack %s: the path %.100s… has %d bytes, at most %d are allowed", p.given, h.Name, len(h.Name), maxName)
	}
	if err := p.out.WriteHeader(h); err != nil {
		return fmt.Errorf("pack %s: %s: %w", p.given, h.Name, err)
	}
	return nil
}

// withIgnoreFiles adds the lists that a folder's ignore files have.
func (p *packer) withIgnoreFiles(folder, below string, lists []rules) ([]rules, error) {
	for _, name := range []string{".gitignore", ".rayignore"} {
		if name == ".gitignore" && p.NoGitignore {
			continue
		}
		b, err := readIgnore(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", p.given, err)
		}
		if len(b) > 0 {
			lists = append(slices.Clip(lists), newRules(below, strings.Split(string(b), "\n")))
		}
	}
	return lists, nil
}

// readIgnore reads an ignore file. A file that is missing excludes nothing.
func readIgnore(at string) ([]byte, error) {
	info, err := os.Stat(at)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if info.Size() > maxIgnore {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", at, info.Size(), maxIgnore)
	}
	return os.ReadFile(at)
}

// inside reports whether a path is a folder or lies below it. Both have no symlinks.
func inside(folder, at string) bool {
	return at == folder || strings.HasPrefix(at, strings.TrimSuffix(folder, "/")+"/")
}

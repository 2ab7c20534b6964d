package machine

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// TrimCode lets go of the pages that this process has of its executable's code
// and constants: they are in the file, and those that it uses come back at once.
func TrimCode() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	pagemap, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	defer pagemap.Close()
	for from, to := range constantRanges(maps, exe) {
		if unwritten(pagemap, from, to) {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}

// What pagemap says of a page.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// unwritten reports whether no page of a file's mapping has been written to, by
// relocations or a debugger: those would be lost.
func unwritten(pagemap io.ReaderAt, from, to uintptr) bool {
	const entry = 8
	size := uintptr(os.Getpagesize())
	b := make([]byte, (to-from)/size*entry)
	if _, err := pagemap.ReadAt(b, int64(from/size*entry)); err != nil {
		return false
	}
	for ; len(b) > 0; b = b[entry:] {
		p := binary.NativeEndian.Uint64(b)
		if p&pageSwapped != 0 || p&pagePresent != 0 && p&pageOfFile == 0 {
			return false
		}
	}
	return true
}

// constantRanges yields the mappings of a file that the process cannot write to.
func constantRanges(maps []byte, path string) func(yield func(from, to uintptr) bool) {
	return func(yield func(from, to uintptr) bool) {
		for line := range bytes.Lines(maps) {
			f := bytes.Fields(line)
			if len(f) < 6 || string(f[5]) != path || string(f[1]) != "r-xp" && string(f[1]) != "r--p" {
				continue
			}
			low, high, _ := bytes.Cut(f[0], []byte("-"))
			from, err := strconv.ParseUint(string(low), 16, 64)
			to, err2 := strconv.ParseUint(string(high), 16, 64)
			if err == nil && err2 == nil && from < to && !yield(uintptr(from), uintptr(to)) {
				return
			}
		}
	}
}

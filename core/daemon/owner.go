package daemon

import (
	"os"
	"syscall"
)

// ownerOf returns the uid that a file belongs to.
func ownerOf(st os.FileInfo) (int, bool) {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

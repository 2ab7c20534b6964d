package wire

import (
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/eagleray/eagleray/core/ids"
)

// AddressOf returns the address at which other processes reach a process: its owner's id in
// hexadecimal digits. It is the same on every node. The id begins with the number of the
// process's node, so the address says by itself where the process is.
func AddressOf(o ids.Owner) string { return o.String() }

// ParseAddress returns whose address it is. Each process has one address only: capital
// letters, for instance, are refused.
func ParseAddress(addr string) (o ids.Owner, err error) {
	if len(addr) != hex.EncodedLen(len(o)) {
		return o, fmt.Errorf("%.100q is not a process's address: it has %d bytes, and an owner's id in hex has %d", addr, len(addr), hex.EncodedLen(len(o)))
	}
	if _, err := hex.Decode(o[:], []byte(addr)); err != nil || AddressOf(o) != addr {
		return ids.Owner{}, fmt.Errorf("%q is not a process's address: that is an owner's id in the digits 0 to 9 and a to f", addr)
	}
	return o, nil
}

// SocketPath returns the path of the socket at which a process listens on its own node, whose
// daemon has this session directory.
func SocketPath(sessionDir string, o ids.Owner) string {
	return filepath.Join(sessionDir, "p", AddressOf(o)+".sock")
}

// DaemonPath returns the path of the socket of the daemon with this session directory.
func DaemonPath(sessionDir string) string { return filepath.Join(sessionDir, "d.sock") }

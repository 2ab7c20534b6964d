package handover

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Patience is how long one end waits for the other one.
const Patience = 30 * time.Second

// ErrOtherVersion says that the successor does not read the snapshots of this worker.
// The daemon and the worker are of different versions of this program then.
var ErrOtherVersion = errors.New("the daemon runs another version of this program")

// Announce tells the worker which version of the snapshot its successor reads. From now on
// everything that the successor does with the connection has a deadline.
func Announce(u *net.UnixConn) error {
	if err := u.SetDeadline(time.Now().Add(Patience)); err != nil {
		return err
	}
	if _, err := u.Write([]byte{Version}); err != nil {
		return fmt.Errorf("tell the worker which version of the snapshot its successor reads: %w", err)
	}
	return nil
}

// AwaitVersion waits for Announce. It returns ErrOtherVersion, with both versions, when the
// successor reads another version than Send writes.
func AwaitVersion(u *net.UnixConn) error {
	version, err := hear(u)
	if err != nil {
		return err
	}
	if version != Version {
		return fmt.Errorf("the successor reads snapshots of version %d, and this worker writes version %d: %w", version, Version, ErrOtherVersion)
	}
	return nil
}

// Send sends the snapshot with the descriptors and waits until the successor has taken over.
func Send(u *net.UnixConn, s *Snapshot, fds []int) error {
	body, err := Encode(s)
	if err != nil {
		return err
	}
	if err := wire.SendParcel(u, body, fds); err != nil {
		return fmt.Errorf("hand over: %w", err)
	}
	if _, err := hear(u); err != nil {
		return fmt.Errorf("hand over: the successor has not taken over, and the daemon's log says why: %w", err)
	}
	return nil
}

// Receive receives what Send sends. After an error there are no files.
func Receive(u *net.UnixConn) (s *Snapshot, files []*os.File, err error) {
	body, files, err := wire.ReceiveParcel(u)
	if err == nil {
		s, err = Decode(body)
	}
	if err == nil && len(files) != 1+s.Connections() {
		err = fmt.Errorf("there are %d descriptors, not %d", len(files), 1+s.Connections())
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return nil, nil, fmt.Errorf("read what is handed over: %w", err)
	}
	return s, files, nil
}

// Confirm tells the worker that its successor has taken over. A worker that was killed
// meanwhile has its successor, too, so a failure is no error.
func Confirm(u *net.UnixConn) { _, _ = u.Write([]byte{1}) }

// hear waits for a byte of the successor.
func hear(u *net.UnixConn) (byte, error) {
	if err := u.SetDeadline(time.Now().Add(Patience)); err != nil {
		return 0, err
	}
	var b [1]byte
	_, err := u.Read(b[:])
	return b[0], err
}

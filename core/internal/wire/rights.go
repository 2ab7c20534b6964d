package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// fdsPerByte is how many descriptors ride on one byte; the kernel takes 253.
const fdsPerByte = 200

// MaxParcel caps the bytes of a parcel.
const MaxParcel = 1 << 30

// SendParcel writes bytes together with descriptors.
func SendParcel(u *net.UnixConn, body []byte, fds []int) error {
	if len(body) > MaxParcel {
		return fmt.Errorf("parcel: %w: %d bytes, cap %d", ErrFrameTooLarge, len(body), MaxParcel)
	}
	var h [8]byte
	binary.LittleEndian.PutUint32(h[:], uint32(len(fds)))
	binary.LittleEndian.PutUint32(h[4:], uint32(len(body)))
	if _, err := u.Write(h[:]); err != nil {
		return err
	}
	for len(fds) > 0 {
		n := min(len(fds), fdsPerByte)
		if _, _, err := u.WriteMsgUnix([]byte{0}, unix.UnixRights(fds[:n]...), nil); err != nil {
			return err
		}
		fds = fds[n:]
	}
	_, err := u.Write(body)
	return err
}

// ReceiveParcel reads what SendParcel wrote. The descriptors are the caller's.
func ReceiveParcel(u *net.UnixConn) (body []byte, fds []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range fds {
				f.Close()
			}
			fds = nil
		}
	}()
	var h [8]byte
	if _, err = io.ReadFull(u, h[:]); err != nil {
		return nil, nil, err
	}
	count, size := int(binary.LittleEndian.Uint32(h[:])), int(binary.LittleEndian.Uint32(h[4:]))
	if size > MaxParcel {
		return nil, nil, fmt.Errorf("parcel: %w: %d bytes, cap %d", ErrFrameTooLarge, size, MaxParcel)
	}
	oob := make([]byte, unix.CmsgSpace(4*fdsPerByte))
	for len(fds) < count {
		var b [1]byte
		n, on, _, _, err := u.ReadMsgUnix(b[:], oob)
		if err != nil {
			return nil, fds, err
		}
		got := parseFDs(oob[:on])
		for _, fd := range got {
			unix.CloseOnExec(fd)
			fds = append(fds, os.NewFile(uintptr(fd), "handed over"))
		}
		if n == 0 || len(got) == 0 {
			return nil, fds, fmt.Errorf("%w: parcel with %d of %d descriptors", ErrBadFrame, len(fds), count)
		}
	}
	// The other end claims this size: the buffer grows only as the bytes come.
	if body, err = io.ReadAll(io.LimitReader(u, int64(size))); err == nil && len(body) < size {
		err = io.ErrUnexpectedEOF
	}
	return body, fds, err
}

// parseFDs returns the descriptors of a control message.
func parseFDs(oob []byte) (all []int) {
	ms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range ms {
		if fds, err := unix.ParseUnixRights(&m); err == nil {
			all = append(all, fds...)
		}
	}
	return all
}

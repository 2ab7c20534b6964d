package headprocess

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/eagleray/eagleray/core/internal/blobs"
)

// The bytes that say what a bulk connection is for are read again by who answers it, in pieces of any size.
func TestBegunConn_FirstBytes_AreReadAgain(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = there.Write([]byte(" and the rest"))
	}()
	c := &begunConn{Conn: here, first: append([]byte(nil), blobs.Magic[:]...)}
	var got bytes.Buffer
	one := make([]byte, 3)
	for {
		n, err := c.Read(one)
		got.Write(one[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != string(blobs.Magic[:])+" and the rest" {
		t.Errorf("got %q", got.String())
	}
}

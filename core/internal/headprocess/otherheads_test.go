package headprocess

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/blobs"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
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

// The first head of a cluster has number 0. It is a head like the others.
func TestOtherHeads_HeadZero_IsListedAndDialed(t *testing.T) {
	at := []linkmsg.HeadAt{{ID: "a", Number: 0, Addresses: []string{"a:1"}}, {ID: "b", Number: 2, Addresses: []string{"b:1"}}, {ID: "c", Number: 4, Addresses: []string{"c:1"}}}
	var dialed []uint32
	o := &otherHeads{number: 2, book: headgroup.NewBook(t.TempDir(), &headgroup.File{Heads: at}, slog.New(slog.DiscardHandler)), bulk: func(_ context.Context, number uint32) (net.Conn, error) {
		dialed = append(dialed, number)
		return nil, nil
	}}
	list, _ := o.Heads()
	for _, h := range list {
		if _, err := o.Dial(t.Context(), h.Number); err != nil || !o.Has(h.Number) {
			t.Errorf("head %d is not reached: %v", h.Number, err)
		}
	}
	if !slices.Equal(dialed, []uint32{0, 4}) {
		t.Errorf("dialed %v, want heads 0 and 4", dialed)
	}
}

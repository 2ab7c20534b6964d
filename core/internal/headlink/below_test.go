package headlink

import (
	"errors"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/record"
)

// A request says below which number this node waits for no answer, so that the state can forget the answers.
func TestClient_RequestsEndInAnyOrder_TheNextOneSaysBelowWhichNoneWaits(t *testing.T) {
	c := NewClient(ClientOptions{})
	begin := func() *ask {
		return c.ask(linkmsg.OpPutValue, true, nil, func(msgpack.RawMessage, error) {})
	}
	below := func() uint64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.answeredBelow()
	}
	var asks []*ask
	for range 5 {
		asks = append(asks, begin())
	}
	if got := below(); got != 1 {
		t.Errorf("nothing is answered: below %d", got)
	}
	c.finish(asks[1].n, nil, nil)
	c.finish(asks[2].n, nil, nil)
	if got := below(); got != 1 {
		t.Errorf("the first one waits: below %d", got)
	}
	if dropped, _ := c.drop(asks[0], errors.New("its process has gone")); !dropped {
		t.Fatal("it was not dropped")
	}
	if got := below(); got != asks[3].n {
		t.Errorf("the fourth one waits: below %d", got)
	}
	c.finish(asks[3].n, nil, nil)
	c.finish(asks[4].n, nil, nil)
	if last := begin(); below() != last.n {
		t.Errorf("only request %d waits: below %d", last.n, below())
	}
	// The head believes no number that is beyond the request itself.
	s := &session{client: [16]byte{1}}
	r, ok := record.RequestIn(s.named(t.Context(), &linkmsg.Ask{N: 7, Below: 9}))
	if want := (record.Request{Client: [16]byte{1}, Number: 7, Answered: 7}); !ok || r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

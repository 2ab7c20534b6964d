package executor

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A large exception of a constructor goes to the store as the object behind the actor's token, and the
// cluster's state keeps where it is. Where that is not possible the short form is kept.
func TestConstructorRaised_GoesToTheStoreOrIsKeptInShort(t *testing.T) {
	c := newSession(t)
	var created []wire.ObjCreate
	full := false
	c.on(wire.TObjCreate, func(m *wire.Message) {
		var q wire.ObjCreate
		if err := m.Decode(&q); err != nil || full {
			_ = m.Fail(fault.New(fault.StoreFull, "full"))
			return
		}
		created = append(created, q)
		_ = m.Reply(wire.ObjPlace{Size: q.Size})
	})
	token := ids.NewObject(40, ids.Owner{7}, ids.JobOf(3), 0)
	v := Value{Fmt: uint8(store.FormatError), Meta: bytes.Repeat([]byte("the exception "), frame.MaxInline/10)}
	brief := []byte("in short")
	raise := func(text string) Value {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return c.constructorRaised(&wire.ActorStart{Token: text}, &v, brief)
	}
	isShort := func(what string, got Value) {
		t.Helper()
		if got.Fmt != uint8(store.FormatError) || !bytes.Equal(got.Meta, brief) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for what, text := range map[string]string{
		"a detached actor":          "",
		"a token that is no number": "zz@owner",
		"a token of another length": "abcd@owner",
		"a token without its owner": hex.EncodeToString(token[:]),
	} {
		isShort(what, raise(text))
	}
	got := raise(hex.EncodeToString(token[:]) + "@owner")
	want := ids.NewObject(41, ids.Owner{7}, ids.JobOf(3), 1)
	total := v.Size()
	p, err := frame.ReadPointer(got.Meta)
	if err != nil || got.Fmt != uint8(store.FormatElsewhere) || p.ID != want || p.Owner != "owner" || p.Size != uint64(total) || !bytes.Equal(p.Brief, brief) {
		t.Errorf("%+v, %v", p, err)
	}
	c.daemonMu.Lock()
	if len(created) != 1 || !bytes.Equal(created[0].ObjectID, want[:]) || created[0].Size < uint64(total) {
		t.Errorf("the store was asked for %v", created)
	}
	full = true
	c.daemonMu.Unlock()
	isShort("the store is full", raise(hex.EncodeToString(token[:])+"@owner"))
}

package submit

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestHeld_MalformedFrames_AreRefused(t *testing.T) {
	held := func(group string, on uint64) *wire.Reader {
		r := wire.NewReader(wire.AppendUint(wire.AppendStr(nil, group), on))
		return &r
	}
	leased := &Channel{}
	if err := leased.hearHeld(held("io", 1)); err == nil {
		t.Error("a leased worker may hold a concurrency group")
	}
	o := &Channel{Actor: &Actor{}}
	var err error
	for i := 0; err == nil && i < 2*frame.MaxGroups; i++ {
		err = o.hearHeld(held(fmt.Sprint(i), 1))
	}
	if err == nil || len(o.filled) != frame.MaxGroups+2 { // with the default group and the system group
		t.Errorf("a worker may hold %d concurrency groups: %v", len(o.filled), err)
	}
}

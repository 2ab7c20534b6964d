package client

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A list that a second run makes anew names the items that the lost list did. Where it does not, the list fails: it
// would be too short, or name items that nobody has. The items of the first run stay.
func TestStream_LargeListIsLost_SecondRunYieldsOtherItems_ListFails(t *testing.T) {
	for what, x := range map[string]struct {
		yields int // items of the second run; the first one had three
		raises bool
		code   fault.Code
	}{
		"the same":            {3, false, ""},
		"fewer":               {2, false, fault.StreamInconsistent},
		"none":                {0, false, fault.StreamInconsistent},
		"more":                {4, false, fault.StreamInconsistent},
		"raises early":        {1, true, fault.StreamInconsistent},
		"raises after all":    {3, true, fault.StreamInconsistent},
		"raises for the last": {2, true, ""}, // so the list is the same: its last item keeps the value of the first run
	} {
		d := startDaemon(t)
		d.countsRuns(1, func(run int, c *Client, it *Item) {
			n := 3
			if run == 2 {
				n = x.yields
			}
			answer := large(fmt.Sprint("list.", run))
			var first ids.Object
			copy(first[:], it.TaskID[:])
			holds := func(i uint64) {
				answer.Nested = append(answer.Nested, ids.NewObject(first.Count()+1+i, first.Owner(), c.info.Job, uint32(i+2)))
			}
			for i := range n {
				v := large(fmt.Sprintf("%d.%d", i, run))
				if _, err := c.FeedItem(it.Token, &v, 0); err != nil {
					panic(err)
				}
				holds(uint64(i))
			}
			if run == 1 || !x.raises {
				_ = c.Reply(it.Token, []Value{answer}, 0)
				return
			}
			last, err := c.FeedRaises(it.Token)
			if err != nil {
				panic(err)
			}
			holds(last)
			_ = c.Reply(it.Token, []Value{{Fmt: FmtError, Meta: []byte("raised")}, answer}, wire.ReplyAppError|wire.ReplyLastItem)
		})
		c := d.driver()
		gen := generator(t, c, 1, Flow{Mode: FlowDynamic})
		expectOutcome(t, c, "the list", gen, "list.1", "")
		c.unpinUnused()
		var items []ids.Object
		for i := range 3 {
			id := ids.Object(itemID(gen, i))
			if err := c.Import(id, c.info.Addr, 0); err != nil {
				t.Fatal(err)
			}
			items = append(items, id)
		}
		d.loses(gen)
		missing(c, gen)
		want := "list.2"
		if x.code != "" {
			want = ""
		}
		expectOutcome(t, c, what+": the list", gen, want, x.code)
		for i, id := range items {
			expectOutcome(t, c, fmt.Sprintf("%s: item %d", what, i), id, fmt.Sprint(i, ".1"), "")
			c.Release(Drop{Object: id})
		}
		c.Release(Drop{Object: gen})
		d.nothingLeft(t, c)
	}
}

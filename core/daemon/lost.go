package daemon

import "github.com/eagleray/eagleray/core/ids"

// What lineage needs of the table: an owner asks what is lost, and what is
// computed again takes the place of what there was.

// lacks returns those of the objects that are not in the store. What its owner has let
// go of is not, though somebody may still look at it: it goes at any moment.
func (t *objects) lacks(list [][]byte) [][]byte {
	var out [][]byte
	for _, raw := range list {
		id, err := ids.ParseObject(raw)
		if err != nil {
			continue
		}
		// Who asks for what is still being written gets it, whatever its owner has let go of.
		if o := t.table[id]; o == nil || o.freed && o.sealed {
			out = append(out, raw)
		}
	}
	return out
}

// supersede makes way for an object that a task writes which runs again. What
// an earlier run has written was not taken by its owner, or let go by it: it
// goes, at once or with the last process that reads it.
func (t *objects) supersede(c *client, id ids.Object) {
	o := t.table[id]
	switch {
	case o == nil:
	case o.sealed:
		t.detach(o)
		t.setFreed(o, nil)
	case o.creator == c:
		delete(t.holder(c).creating, o)
		t.abandon(o, "it is being written anew")
	}
}

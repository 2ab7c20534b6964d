package histories

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// verb is what a call does.
type verb string

const (
	get    verb = "get"    // a fresh read of a key
	put    verb = "put"    // a key's value, whatever it was
	add    verb = "add"    // a key's value, if the key is new
	del    verb = "del"    // a key
	take   verb = "take"   // a name, for an actor
	leave  verb = "leave"  // a name: the actor that has it ends
	lookup verb = "lookup" // a fresh read of who has a name
)

// call is what a client asks for. A key or a name is a register of its own; a name's value is the actor that has it.
type call struct {
	verb  verb
	name  string // of the register
	value string
}

// reply is what the client was told. known is false when it was told that nobody knows whether the change was made.
type reply struct {
	known bool
	ok    bool   // the key was new, or was there and is deleted; the name is taken now
	value string // what was read; of take that is refused: who has the name
}

// register is the model: one register's value, "" for none.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		byName := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(call).name
			byName[name] = append(byName[name], o)
		}
		for _, part := range byName {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		old, c, r := state.(string), input.(call), output.(reply)
		next, want := old, reply{known: true}
		switch c.verb {
		case get, lookup:
			want.value = old
		case put:
			next, want.ok = c.value, old == ""
		case add:
			if want.ok = old == ""; want.ok {
				next = c.value
			}
		case del:
			next, want.ok = "", old != ""
		case take:
			if want.ok = old == ""; want.ok {
				next = c.value
			} else {
				want.value = old
			}
		case leave:
			if want.ok = old == c.value; want.ok {
				next = ""
			}
		}
		return !r.known || r == want, next
	},
	DescribeOperation: func(input, output any) string { return describe(input.(call), output.(reply)) },
}

func describe(c call, r reply) string {
	s := fmt.Sprintf("%s %s %s", c.verb, c.name, c.value)
	if !r.known {
		return s + " → not known"
	}
	return fmt.Sprintf("%s → %v %s", s, r.ok, r.value)
}

// notes is the history of one run, and what else went wrong in it.
type notes struct {
	clock   atomic.Int64 // orders calls and replies
	mu      sync.Mutex
	calls   []porcupine.Operation
	wrong   []string
	without []string // calls of which it is certain that they changed nothing
	doubt   int      // calls whose outcome is not known
}

// begin returns the time of a call.
func (n *notes) begin() int64 { return n.clock.Add(1) }

// end notes a call. One whose outcome is not known may take effect at any later time.
func (n *notes) end(client int, begun int64, c call, r reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := porcupine.Operation{ClientId: client, Input: c, Call: begun, Output: r, Return: n.clock.Add(1)}
	if !r.known {
		o.Return = math.MaxInt64
		n.doubt++
	}
	n.calls = append(n.calls, o)
}

// undone notes a call of which it is certain that it changed nothing.
func (n *notes) undone(client int, begun int64, c call, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.without = append(n.without, fmt.Sprintf("%d–%d client %d: %s: %v", begun, n.clock.Add(1), client, describe(c, reply{}), why))
}

func (n *notes) fail(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong = append(n.wrong, fmt.Sprintf(format, args...))
}

// judge checks the history. It is called outside of the run's time.
func (n *notes) judge() (wrong []string, undecided bool) {
	wrong = n.wrong
	for _, part := range register.Partition(n.calls) {
		switch porcupine.CheckOperationsTimeout(register, part, 20*time.Second) {
		case porcupine.Illegal:
			wrong = append(wrong, "no order of these calls explains what they were told:\n"+table(part)+"  and these changed nothing:\n"+n.withoutEffect(part[0].Input.(call).name))
		case porcupine.Unknown:
			undecided = true
		}
	}
	return wrong, undecided
}

func table(part []porcupine.Operation) string {
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range part {
		until := fmt.Sprint(o.Return)
		if o.Return == math.MaxInt64 {
			until = "…"
		}
		fmt.Fprintf(&b, "  %5d–%-5s client %d: %s\n", o.Call, until, o.ClientId, describe(o.Input.(call), o.Output.(reply)))
	}
	return b.String()
}

func (n *notes) withoutEffect(name string) string {
	var b strings.Builder
	for _, s := range n.without {
		if strings.Contains(s, " "+name+" ") {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	return b.String()
}

package client

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// class is a scheduling class: the tasks that may run in the same workers, because
// they are of one function and ask for the same resources and environment.
type class struct {
	id     uint32 // by which the daemon knows it
	name   string // of the function, for people
	queue  fifo   // tasks that are ready and not sent
	leases []*lease
	want   int          // how many more leases the daemon was asked for
	due    int          // for how many of them the daemon may use an alternative; see alternatives.go
	paces  []pace       // how long its tasks run, for each choice of resources
	after  int64        // for how many ms only the first choice may be used
	alarm  timer        // rings when the next task is due; nil: it was never needed
	bad    *fault.Error // why no node can run its tasks at present
	since  time.Time    // when a task of it was sent last, or the queue began to wait
	shape  *shape       // the classes that it exchanges leases with; nil: none
	listed bool         // the class is in shape.waiting

	granted uint64    // how many leases the daemon has granted
	opening int       // how many of them wait for the socket to their worker
	changed time.Time // when a lease came last, or gave tasks back

	key       string // in submitter.byClass
	templates int    // how many templates belong to it
}

// classKey returns what tells scheduling classes apart. A function that ends its workers, or that
// is short while another one is long, has a class of its own, because the depth is measured for each class.
func classKey(t *Template) string {
	var b strings.Builder
	resourcesKey(&b, t.Resources)
	fmt.Fprintf(&b, "|%s|%s|%d|%t|%x", t.EnvKey, t.Strategy, t.MaxCalls, t.Enforce, t.FID)
	t.fallbackKey(&b)
	return b.String()
}

// resourcesKey writes amounts of resources in the order of their names.
func resourcesKey(b *strings.Builder, r map[string]int64) {
	names := make([]string, 0, len(r))
	for n := range r {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(b, "%s=%d,", n, r[n])
	}
}

// classFor returns the class of a template, and makes it when there is none.
func (c *submitter) classFor(t *Template) *class {
	key := classKey(t)
	if k := c.byClass[key]; k != nil {
		return k
	}
	return c.defineClass(c.nextClass, key, t)
}

// defineClass makes a class with a number and tells the daemon of it.
func (c *submitter) defineClass(id uint32, key string, t *Template) *class {
	c.nextClass = max(c.nextClass, id+1)
	k := &class{id: id, key: key, name: t.Name, paces: make([]pace, 1+len(t.Fallback)), after: t.AfterMs, shape: c.shapeFor(t)}
	c.classes[k.id] = k
	c.byClass[key] = k
	c.fx.Push(wire.TClassDefine, wire.ClassDefine{ClassID: k.id, Resources: t.Resources, EnvKey: t.EnvKey, Name: t.Name, Strategy: t.Strategy, Enforce: t.Enforce,
		Fallback: t.alternatives(), AfterMs: t.AfterMs})
	return k
}

// trouble is told that no worker can be had for a class. When no node is large enough its tasks wait
// and are infeasible. When the environment cannot be made the queued tasks fail, and later tasks try again.
func (c *submitter) trouble(id uint32, f *fault.Error) {
	k := c.classes[id]
	if k == nil {
		return
	}
	defer k.note()
	if f.Code != fault.TaskUnschedulable {
		k.want, k.due = 0, 0
		for k.queue.len() > 0 {
			c.failTask(k.queue.pop(), f)
		}
		return
	}
	k.bad = f
	k.queue.each(func(t *task) { c.infeasible(t, f) })
}

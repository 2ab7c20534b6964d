package joblogs

import (
	"sync"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// driver is a driver of this node.
type driver struct {
	sink  *workers.Sink        // nil: it does not want what workers write
	warn  func([]wire.LogLine) // shows it warnings all the same
	nodes map[uint32]bool      // other nodes that may run workers of its job
}

// Drives notes a driver of this node. Sink takes what its workers write, and is nil if the driver does not want that; warn shows
// it warnings then. Finish or Forget ends it.
func (l *Logs) Drives(job ids.Job, sink *workers.Sink, warn func([]wire.LogLine)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drivers[job] = &driver{sink: sink, warn: warn, nodes: make(map[uint32]bool)}
}

// Finish waits until the driver of a job that leaves has got what its workers have written: those of this node, whose
// outputs are given, and those of others. Over says that the job ends with the driver. Finish closes the driver's sink.
func (l *Logs) Finish(job ids.Job, over bool, outputs []*workers.Output) {
	defer l.Forget(job)
	sink, nodes := l.reach(job)
	if sink == nil { // the driver does not want the lines, but they go into files
		nodes = nil
	}
	var asked sync.WaitGroup
	for _, node := range nodes {
		asked.Add(1)
		l.ask(node, linkmsg.TOutputEnd, &linkmsg.OutputEnd{Job: job, Over: over}, func(*wire.Message, error) { asked.Done() })
	}
	var all chan struct{}
	if len(nodes) > 0 {
		all = make(chan struct{})
		go func() { // it ends with the connections, at the latest
			asked.Wait()
			close(all)
		}()
	}
	drain(l.ctx, sink, outputs, all)
}

// reach returns the sink of a driver, and the other nodes that may run workers of its job.
func (l *Logs) reach(job ids.Job) (sink *workers.Sink, nodes []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.drivers[job]
	if d == nil {
		return nil, nil
	}
	for node := range d.nodes {
		nodes = append(nodes, node)
	}
	return d.sink, nodes
}

// Forget drops the driver of a job, and what other nodes will still send for it.
func (l *Logs) Forget(job ids.Job) {
	if d := l.forgetDriver(job); d != nil && d.sink != nil {
		d.sink.Close()
	}
}

func (l *Logs) forgetDriver(job ids.Job) *driver {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.drivers[job]
	delete(l.drivers, job)
	return d
}

// NodeGone says that another node is dead.
func (l *Logs) NodeGone(node uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.drivers {
		delete(d.nodes, node)
	}
}

// Handle serves a message of another node. It returns false if the message is not about output.
func (l *Logs) Handle(from uint32, m *wire.Message) bool {
	var err error
	switch m.Type {
	case linkmsg.TOutput:
		err = l.output(from, m)
	case linkmsg.TOutputEnd:
		err = l.driverLeaves(from, m)
	default:
		return false
	}
	if err != nil {
		l.o.Refused(err)
		_ = m.Fail(err)
	}
	return true
}

// output serves TOutput: it shows a driver what workers of another node have written.
func (l *Logs) output(from uint32, m *wire.Message) error {
	q, err := linkmsg.DecodeOutput(m)
	if err != nil {
		return err
	}
	if q.Address == l.o.Address {
		q.Address = "" // as in Ray, which shows the address of another machine only
	}
	lines := make([]wire.LogLine, len(q.Lines))
	for i, x := range q.Lines {
		lines[i] = wire.LogLine(x)
		lines[i].Node = q.Address
	}
	d := l.from(q.Job, from)
	switch {
	case d == nil: // its driver has gone
	case d.sink != nil:
		d.sink.Add(lines)
	default:
		if lines = warnings(lines); len(lines) > 0 {
			d.warn(lines)
		}
	}
	answer, err := linkmsg.Encode("an answer", &linkmsg.OutputTaken{Wanted: d != nil && d.sink != nil})
	if err != nil {
		return err
	}
	return m.Reply(answer)
}

// from notes that a node may run workers of a job, and returns the job's driver, nil if it is not here.
func (l *Logs) from(job ids.Job, node uint32) *driver {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.drivers[job]
	if d != nil {
		d.nodes[node] = true
	}
	return d
}

// driverLeaves serves TOutputEnd: it answers when what workers of this node have written for a driver elsewhere is sent.
func (l *Logs) driverLeaves(from uint32, m *wire.Message) error {
	var q linkmsg.OutputEnd
	if err := linkmsg.Decode(m.Type.String(), m.Body, linkmsg.MaxAddress, &q); err != nil {
		return err
	}
	list, err := l.sendersOf(q.Job, from)
	if err != nil {
		return err
	}
	l.goes(func() {
		if q.Over {
			l.o.Ended(q.Job) // the head's news may be later
		}
		for _, s := range list {
			if !q.Over { // what goes on here belongs to actors that outlive the driver
				s.sink.Flush(DrainLimit)
				continue
			}
			select {
			case <-s.done:
			case <-l.ctx.Done():
			}
		}
		_ = m.Reply(nil)
	})
	return nil
}

// sendersOf returns what sends output of a job to a node, which must be the node of the job's driver.
func (l *Logs) sendersOf(job ids.Job, node uint32) (list []*sender, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.senders {
		if s.job != job {
			continue
		}
		if s.node != node {
			return nil, fault.New(fault.BadRequest, "node %d says that the driver of job %s leaves, and that driver is on node %d", node, job, s.node)
		}
		list = append(list, s)
	}
	return list, nil
}

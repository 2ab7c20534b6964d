package visitors

import (
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Network leads to the daemons of other nodes.
type Network interface {
	// Control returns the control connection with a node. It does not wait.
	Control(node uint32) (*wire.Peer, error)
}

// Options are what Visitors need of their node.
type Options struct {
	Network Network // nil: there are no other nodes
	// Here says what this node knows of a job and of an environment with that key. "" asks for no environment.
	Here    func(job ids.Job, env string) Info
	Refused func(error) // notes that a message of another node makes no sense
}

// Visitors are the questions of one node about jobs of other nodes.
type Visitors struct {
	o Options

	mu   sync.Mutex
	asks map[question][]func(Info, error)
}

// question names what is asked of whom.
type question struct {
	node uint32
	job  ids.Job
	env  string
}

// New returns Visitors without questions.
func New(o Options) *Visitors {
	return &Visitors{o: o, asks: make(map[question][]func(Info, error))}
}

// Ask asks a node what it knows of a job and of one of its environments. It does not wait: done is called on another goroutine. The
// error says that the node gave no answer.
func (v *Visitors) Ask(node uint32, job ids.Job, env string, done func(Info, error)) {
	q := question{node, job, env}
	if !v.add(q, done) {
		return
	}
	peer, err := v.control(node)
	var b msgpack.RawMessage
	if err == nil {
		b, err = linkmsg.Encode("a question about a job", &linkmsg.JobAsk{Job: job, Env: env})
	}
	if err != nil {
		go v.answered(q, nil, err)
		return
	}
	peer.Go(linkmsg.TJobAsk, b, func(m *wire.Message, err error) { v.answered(q, m, err) })
}

// control returns the control connection with a node.
func (v *Visitors) control(node uint32) (*wire.Peer, error) {
	if v.o.Network == nil {
		return nil, fault.New(fault.Internal, "node %d cannot be asked: this node is alone", node)
	}
	return v.o.Network.Control(node)
}

// add notes who wants an answer. It reports whether the question has to be asked.
func (v *Visitors) add(q question, done func(Info, error)) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asks[q] = append(v.asks[q], done)
	return len(v.asks[q]) == 1
}

// answered tells all who wait for an answer.
func (v *Visitors) answered(q question, m *wire.Message, err error) {
	var info Info
	if err == nil {
		info, err = Unpack(m.Body, q.env)
	}
	if err != nil {
		err = fmt.Errorf("ask node %d about job %s: %w", q.node, q.job, err)
	}
	for _, done := range v.take(q) {
		done(info, err)
	}
}

// take ends a question.
func (v *Visitors) take(q question) []func(Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := v.asks[q]
	delete(v.asks, q)
	return all
}

// Handle takes a message of another node. It reports false for one that is not about jobs.
func (v *Visitors) Handle(m *wire.Message) bool {
	if m.Type != linkmsg.TJobAsk {
		return false
	}
	var q linkmsg.JobAsk
	err := linkmsg.Decode("a question about a job", m.Body, linkmsg.MaxQuestion, &q)
	if err == nil {
		var b []byte
		if b, err = Pack(v.o.Here(q.Job, q.Env)); err == nil {
			_ = m.Reply(msgpack.RawMessage(b))
			return true
		}
	}
	v.o.Refused(err)
	_ = m.Fail(err)
	return true
}

// Sizes returns the numbers of entries of the tables.
func (v *Visitors) Sizes() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return map[string]int{"job_questions": len(v.asks)}
}

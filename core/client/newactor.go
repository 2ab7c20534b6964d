package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// ActorSpec describes an actor to be created.
type ActorSpec struct {
	wire.ActorCreate
	FID      []byte
	Blob     []byte // the pickled class
	Template *Template
	Classes  []ActorCode // of Fallback, one each
}

// ActorCode is the class that an alternative names, zero for the actor's own.
type ActorCode struct {
	FID  []byte
	Blob []byte
}

// NewActor registers an actor; the program gets one handle. For a named actor it waits
// for the head's answer; existing is what GetIfExists found.
func (c *Client) NewActor(s *ActorSpec, args *Value, deps []ids.Object) (id ids.Actor, existing *wire.ActorNamed, err error) {
	if err := s.check(); err != nil {
		return id, nil, err
	}
	total, _ := args.layout()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return id, nil, c.why
	}
	tm := &Template{Kind: KindTask, Name: s.ClassName, FID: s.FID, Blob: s.Blob}
	tm.intern()
	t, err := c.newTask(tm, &Call{Args: *args, Deps: deps}, total)
	if err != nil {
		return id, nil, err
	}
	a := c.newActor(s, t, tm, args.Site)
	code := s.codeObjects()
	if s.Name == "" && len(code) == 0 {
		c.registerWhenReady(a)
		return a.id, nil, nil
	}
	// A name must be taken before this returns. The class of an actor that may
	// outlive this process must be given away before. Neither waits for the
	// constructor's arguments: the worker asks their owners itself.
	req := c.announced(a)
	c.mu.Unlock()
	existing, err = c.announceActor(req, code)
	c.mu.Lock()
	if err != nil || existing != nil {
		c.forgetCreation(a)
		return a.id, existing, err
	}
	c.resolve(a)
	return a.id, nil, nil
}

// announceActor registers an actor, with the code of its classes, and waits for the answer.
func (c *Client) announceActor(req *wire.ActorCreate, code [][]byte) (existing *wire.ActorNamed, err error) {
	if existing, err = c.giveCode(req, code); err != nil || existing != nil {
		return existing, err
	}
	var got wire.ActorCreated
	if err = c.call(wire.TActorCreate, req, &got); len(code) > 0 && (err != nil || got.Existing != nil) {
		c.push(wire.TCodeDrop, wire.ActorRef{ActorID: req.ActorID})
	}
	return got.Existing, err
}

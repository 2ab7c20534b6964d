package raftstate

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// The typed methods: what core/internal/head declares as its State. Changes are
// described at the commands of the same name, reads at Machine.

// Changes are the changes that a member proposes: for anybody (those of Node), or as the leader of one term (those of Reign).
type Changes struct {
	n    *Node
	term uint64 // 0: of any term
}

// do applies a body for its error alone.
func (x Changes) do(ctx context.Context, b Body) error {
	_, err := x.Apply(ctx, Command{Body: b})
	return err
}

// RegisterActor adds a PENDING actor.
func (x Changes) RegisterActor(ctx context.Context, a record.Actor) error {
	if n := x.n; a.Blobs == nil && (n.asBlob(len(a.Spec)) || n.asBlob(len(a.Meta)) || n.asBlob(len(a.Home))) {
		return x.registerHeld(ctx, a)
	}
	return x.do(ctx, &RegisterActor{a})
}

// ActorPlaced notes the node that starts the instance.
func (x Changes) ActorPlaced(ctx context.Context, i record.Instance) error {
	return x.do(ctx, &ActorPlaced{i})
}

// ActorAlive notes that the instance takes calls.
func (x Changes) ActorAlive(ctx context.Context, i record.Instance, atMs int64) error {
	return x.do(ctx, &ActorAlive{i, atMs})
}

// ActorRestarting makes the incarnation after the given one.
func (x Changes) ActorRestarting(ctx context.Context, id ids.Actor, incarnation uint64, c record.Cause) error {
	return x.do(ctx, &ActorRestarting{id, incarnation, c})
}

// ActorDead ends the actor for good.
func (x Changes) ActorDead(ctx context.Context, id ids.Actor, incarnation uint64, c record.Cause, atMs int64) error {
	return x.do(ctx, &ActorDead{id, incarnation, c, atMs})
}

// ActorReleased notes that no handle is left.
func (x Changes) ActorReleased(ctx context.Context, id ids.Actor) error {
	return x.do(ctx, &ActorReleased{id})
}

// PutCode brings a part of a class for an actor that is about to be registered,
// and returns how many bytes of the class are there.
func (x Changes) PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (have uint64, err error) {
	part := &CodePart{object, a, size, offset, data, node}
	if !x.n.asBlob(len(data)) {
		r, err := x.Apply(ctx, Command{Body: part})
		return uint64(r.Count), err
	}
	if err := part.check(); err != nil {
		return 0, fmt.Errorf("%s: %w: %w", part.subject(), record.ErrInvalid, err)
	}
	held, err := x.n.hold(ctx, part.subject(), data)
	if err != nil {
		return 0, err
	}
	r, err := x.applyHeld(ctx, &CodeBlob{object, a, size, offset, held, node})
	return uint64(r.Count), err
}

// DropCode says that the actor will not be registered.
func (x Changes) DropCode(ctx context.Context, a ids.Actor) error {
	return x.do(ctx, &CodeDrop{a})
}

// Code returns what is kept of a class from an offset on, up to the end of a
// part, and the size of the whole.
func (n *Node) Code(ctx context.Context, object ids.Object, offset uint64) (data []byte, size uint64, ok bool, err error) {
	for {
		var part, now values.Value
		var at uint64
		n.fsm.view(func(m *Machine) { part, at, size, ok = m.classes.Part(object, offset) })
		if !ok || part.Size() == 0 {
			return nil, size, ok, nil
		}
		data, err := n.get(ctx, part)
		if err == nil {
			return data[at:], size, true, nil
		}
		n.fsm.view(func(m *Machine) { now, _, _, _ = m.classes.Part(object, offset) })
		if !again(err, part, now) {
			return nil, 0, false, fmt.Errorf("the class in object %s: %w", object, err)
		}
	}
}

// Actor returns an actor's record, dead ones too.
func (n *Node) Actor(id ids.Actor) (a record.Actor, ok bool) {
	n.fsm.view(func(m *Machine) { a, ok = m.Actor(id) })
	return a, ok
}

// ActorNamed returns the live actor with the name.
func (n *Node) ActorNamed(namespace, actor string) (a record.Actor, ok bool) {
	n.fsm.view(func(m *Machine) { a, ok = m.ActorNamed(namespace, actor) })
	return a, ok
}

// ActorsOf returns the actors that match, in order of registration.
func (n *Node) ActorsOf(f record.ActorFilter) (list []record.Actor) {
	n.fsm.view(func(m *Machine) { list = m.ActorsOf(f) })
	return list
}

// RegisterNode adds a node or renews its record.
func (x Changes) RegisterNode(ctx context.Context, r record.Node) error {
	return x.do(ctx, &RegisterNode{r})
}

// NodeNumber gives a node that is not registered yet the next number.
func (x Changes) NodeNumber(ctx context.Context, id ids.Node) (uint32, error) {
	r, err := x.Apply(ctx, Command{Body: &NodeNumber{id}})
	return r.Number, err
}

// DrainNode says that a node gets no new work and leaves.
func (x Changes) DrainNode(ctx context.Context, id ids.Node, d record.Drain) error {
	return x.do(ctx, &NodeDrain{id, d})
}

// NodeDead declares a node dead.
func (x Changes) NodeDead(ctx context.Context, id ids.Node, reason string, atMs int64) error {
	return x.do(ctx, &NodeDead{ID: id, Reason: reason, AtMs: atMs})
}

// NodeGone declares a node dead of which no process runs any more, as somebody knows who has seen it.
func (x Changes) NodeGone(ctx context.Context, id ids.Node, reason string, atMs int64) error {
	return x.do(ctx, &NodeDead{id, reason, atMs, true})
}

// Node returns a node's record.
func (n *Node) Node(id ids.Node) (r record.Node, ok bool) {
	n.fsm.view(func(m *Machine) { r, ok = m.Node(id) })
	return r, ok
}

// LastNumber returns the highest number that a node or a head was given. Only a member that leads knows it: the state of another one may be older.
func (n *Node) LastNumber() (last uint32, err error) {
	if n.Reigns() == nil {
		return 0, ErrNotLeader
	}
	n.fsm.view(func(m *Machine) { last = m.lastNode })
	return last, nil
}

// ListNodes returns all nodes in order of registration.
func (n *Node) ListNodes() (list []record.Node) {
	n.fsm.view(func(m *Machine) { list = m.ListNodes() })
	return list
}

// StartJob gives the job the next number.
func (x Changes) StartJob(ctx context.Context, j record.Job) (ids.Job, error) {
	r, err := x.Apply(ctx, Command{Body: &JobStart{j}})
	return r.Job, err
}

// EndJob ends a job.
func (x Changes) EndJob(ctx context.Context, id ids.Job, s record.JobState, message string, atMs int64) error {
	return x.do(ctx, &JobEnd{id, s, message, atMs})
}

// Job returns a job's record.
func (n *Node) Job(id ids.Job) (j record.Job, ok bool) {
	n.fsm.view(func(m *Machine) { j, ok = m.Job(id) })
	return j, ok
}

// ListJobs returns all jobs in order of their numbers.
func (n *Node) ListJobs() (list []record.Job) {
	n.fsm.view(func(m *Machine) { list = m.ListJobs() })
	return list
}

// PutKV stores a value and reports whether the key is new.
func (x Changes) PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (bool, error) {
	put := &KVPut{namespace, key, value, overwrite}
	if !x.n.asBlob(len(value)) {
		r, err := x.Apply(ctx, Command{Body: put})
		return r.Count == 1, err
	}
	held, err := x.n.hold(ctx, put.subject(), value)
	if err != nil {
		r, err := x.n.earlier(ctx, put, err)
		return r.Count == 1, err
	}
	r, err := x.applyHeld(ctx, &KVBlob{namespace, key, held, overwrite})
	return r.Count == 1, err
}

// DelKV deletes a key, or all keys that begin with it, and returns how many.
func (x Changes) DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error) {
	r, err := x.Apply(ctx, Command{Body: &KVDel{namespace, key, prefix}})
	return r.Count, err
}

// GetKV returns a value. A large value is read from the disk, and comes from another head if this one lacks it.
func (n *Node) GetKV(ctx context.Context, namespace, key string) (value []byte, ok bool, err error) {
	for {
		var v, now values.Value
		n.fsm.view(func(m *Machine) { v, ok = m.kv[namespace][key] })
		if !ok {
			return nil, false, nil
		}
		value, err := n.get(ctx, v)
		if err == nil {
			return value, true, nil
		}
		n.fsm.view(func(m *Machine) { now = m.kv[namespace][key] })
		if !again(err, v, now) {
			return nil, false, fmt.Errorf("key %q: %w", key, err)
		}
	}
}

// KVKeys returns the keys that begin with prefix, in order.
func (n *Node) KVKeys(namespace, prefix string) (keys []string) {
	n.fsm.view(func(m *Machine) { keys = m.KVKeys(namespace, prefix) })
	return keys
}

// PutSetting stores a setting of the cluster.
func (x Changes) PutSetting(ctx context.Context, setting string, value []byte) error {
	return x.do(ctx, &SettingPut{setting, value})
}

// DelSetting deletes a setting.
func (x Changes) DelSetting(ctx context.Context, setting string) error {
	return x.do(ctx, &SettingDel{setting})
}

// Setting returns a setting.
func (n *Node) Setting(setting string) (v []byte, ok bool) {
	n.fsm.view(func(m *Machine) { v, ok = m.Setting(setting) })
	return v, ok
}

// Settings returns the settings' names, in order.
func (n *Node) Settings() (names []string) {
	n.fsm.view(func(m *Machine) { names = m.Settings() })
	return names
}

package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// requests are the messages that the node role serves by itself, on the goroutine of
// the process's connection. An error is logged and answered.
var requests = map[wire.Type]func(d *Daemon, c *client, m *wire.Message) error{
	wire.TEnvDefine:   (*Daemon).defineEnv,
	wire.TClassDefine: (*Daemon).defineClass,
	wire.TClassRetire: (*Daemon).retireClass,
	wire.TLeaseWant:   (*Daemon).wantLeases,
	wire.TLeaseReturn: (*Daemon).returnLease,
	wire.TLeaseMove:   (*Daemon).moveLease,

	wire.TLeaseRefused: (*Daemon).offerUnused,

	wire.TBlocked:   (*Daemon).blocked,
	wire.TUnblocked: (*Daemon).unblocked,
	wire.TWhoHolds:  (*Daemon).explainWait,

	wire.TWorkerReady: workerOnly((*Daemon).readyWorker),
	wire.TWorkerExit:  workerOnly((*Daemon).exitingWorker),
	wire.TActorReady:  workerOnly((*Daemon).readyActor),
	wire.TTakeOver:    (*Daemon).answerTakeOver,

	wire.TObjCreate: objectRequest(func(q *wire.ObjCreate) *[]byte { return &q.ObjectID }, (*Daemon).createObject),
	wire.TObjReuse:  objectRequest(func(q *wire.ObjReuse) *[]byte { return &q.ObjectID }, (*Daemon).reuse),
	wire.TObjSeal:   objectOnly((*Daemon).sealObject),
	wire.TObjSealed: objectOnly((*Daemon).sealPinned),
	wire.TObjPin:    objectRequest(func(q *wire.ObjPin) *[]byte { return &q.ObjectID }, (*Daemon).pinObject),
	wire.TObjPins:   (*Daemon).pinAll,
	wire.TObjUnpin:  objectOnly((*Daemon).unpinObject),
	wire.TObjFree:   (*Daemon).freeObjects,
	wire.TObjStats:  (*Daemon).objectStats,
	wire.TObjCheck:  (*Daemon).checkObjects,
	wire.TObjWhere:  (*Daemon).locateObjects,

	wire.TForget:    (*Daemon).forgetFunction,
	wire.TCensus:    inBackground((*Daemon).answerCensus),
	wire.TFootprint: inBackground((*Daemon).answerFootprint),
	wire.TGPUWatch:  inBackground((*Daemon).answerGPUWatch),
	wire.TGPUUsed:   inBackground((*Daemon).answerGPUHeld),
	wire.THeadState: (*Daemon).headState,
	wire.TMetrics:   (*Daemon).takeMetrics,
	wire.TShutdown:  (*Daemon).shutDown,
}

// headRequests are the messages that need the head role. They wait in the process's
// queue, since a request to the head may wait for a commit, or for a head that is far away.
var headRequests = map[wire.Type]headRequest{
	wire.TJobStart:     {"start a job", (*Daemon).startJob},
	wire.TJobEnd:       {"end a job", (*Daemon).jobEnd},
	wire.TActorCreate:  {"register an actor", question((*Daemon).createActor)},
	wire.TActorResolve: {findActor, (*Daemon).resolve},
	wire.TActorLost:    {actorends.What, (*Daemon).actorLost},
	wire.TActorKill:    {"kill an actor", question((*Daemon).killActor)},
	wire.TActorRelease: {"release an actor", question((*Daemon).releaseActor)},
	wire.TActorByName:  {"find an actor by its name", read(inquiry.ActorByName)},
	wire.TActorNames:   {"list the names of actors", read(inquiry.ActorNames)},
	wire.TCodePart:     {"bring the class of an actor", question((*Daemon).codePart)},
	wire.TCodeGet:      {"get the class of an actor", question((*Daemon).codeGet)},
	wire.TCodeDrop:     {"drop the class of an actor", question((*Daemon).codeDrop)},
	wire.TKVPut:        {"put a value", change(inquiry.PutValue)},
	wire.TKVGet:        {"get a value", read(inquiry.Value)},
	wire.TKVDel:        {"delete a value", change(inquiry.DeleteValues)},
	wire.TKVKeys:       {"list keys", read(inquiry.Keys)},
	wire.TDrainNode:    {"drain a node", change(inquiry.DrainNode)},
	wire.TClusterInfo:  {"list the nodes", question((*Daemon).answerClusterInfo)},
	wire.TGroupCreate:  {"make a placement group", question((*Daemon).createGroup)},
	wire.TGroupRemove:  {"remove a placement group", change(inquiry.RemoveGroup)},
	wire.TGroupFind:    {"find a placement group", read(inquiry.FindGroup)},
	wire.TGroups:       {"list placement groups", read(inquiry.ListGroups)},
	wire.TGroupWait: {"wait for a placement group", func(d *Daemon, _ context.Context, c *client, m *wire.Message) error {
		return inquiry.AwaitGroup(d.head, &c.pending, m)
	}},
}

// headRequest says how a message is served that needs the head. An error is the answer to the message.
type headRequest struct {
	what  string // what the process wants, for the error about a head that does not answer
	serve func(d *Daemon, ctx context.Context, c *client, m *wire.Message) error
}

// handle serves one message of a process, on its connection's goroutine.
func (d *Daemon) handle(c *client, m *wire.Message) {
	if err := mayAsk(c, m.Type); err != nil {
		d.refuse("message refused", err)
		_ = m.Fail(err)
		return
	}
	if c.keys.Serve(d.ctx, d.keyStore, m) {
		return
	}
	if q, ok := headRequests[m.Type]; ok {
		served := func() {}
		if m.Type == wire.TActorCreate {
			served = d.beginRegistration(c)
		}
		c.tasks.Add(d.ctx, func(ctx context.Context) {
			defer served()
			err := d.awaitHead(ctx)
			if err == nil {
				err = q.serve(d, ctx, c, m)
			}
			if err != nil {
				_ = m.Fail(inquiry.Unanswered(q.what, inquiry.Patience, err))
			}
		})
		return
	}
	var err error = fault.New(fault.BadRequest, "a daemon does not serve %s", m.Type)
	if serve := requests[m.Type]; serve != nil {
		err = serve(d, c, m)
	}
	if err != nil {
		d.refuse("message refused", fmt.Errorf("from %s: %w", c.role, err))
		_ = m.Fail(err)
	}
}

// question serves a message that is one question to the head, and answers it with what f returns.
func question(f func(d *Daemon, ctx context.Context, c *client, m *wire.Message) (any, error)) func(*Daemon, context.Context, *client, *wire.Message) error {
	return func(d *Daemon, ctx context.Context, c *client, m *wire.Message) error {
		reply, err := f(d, ctx, c, m)
		if err == nil {
			_ = m.Reply(reply)
		}
		return err
	}
}

// read serves a message to which the head has the whole answer.
func read(f func(context.Context, inquiry.Reads, *wire.Message) (any, error)) func(*Daemon, context.Context, *client, *wire.Message) error {
	return question(func(d *Daemon, ctx context.Context, _ *client, m *wire.Message) (any, error) {
		return f(ctx, d.head, m)
	})
}

// change serves a message that changes something of the head's.
func change(f func(context.Context, inquiry.Head, *wire.Message) (any, error)) func(*Daemon, context.Context, *client, *wire.Message) error {
	return question(func(d *Daemon, ctx context.Context, _ *client, m *wire.Message) (any, error) {
		return f(ctx, d.head, m)
	})
}

// headOf returns the head, when there is one.
func (d *Daemon) headOf(ctx context.Context) (inquiry.Head, error) {
	if err := d.awaitHead(ctx); err != nil {
		return nil, err
	}
	return d.head, nil
}

// keyStore is headOf for keys.
func (d *Daemon) keyStore(ctx context.Context) (inquiry.KeyStore, error) { return d.headOf(ctx) }

// inBackground serves a message on a goroutine of its own, because the answer takes a while.
func inBackground(f func(d *Daemon, c *client, m *wire.Message)) func(*Daemon, *client, *wire.Message) error {
	return func(d *Daemon, c *client, m *wire.Message) error {
		go f(d, c, m)
		return nil
	}
}

// workerOnly serves a message that only workers may send.
func workerOnly(f func(d *Daemon, w *worker, m *wire.Message) error) func(*Daemon, *client, *wire.Message) error {
	return func(d *Daemon, c *client, m *wire.Message) error {
		if c.worker == nil {
			return fault.New(fault.BadRequest, "%s may come from a worker only, and this process is a %s", m.Type, c.role)
		}
		return f(d, c.worker, m)
	}
}

// shutDown ends the daemon, if the process may ask for that.
func (d *Daemon) shutDown(c *client, m *wire.Message) error {
	if err := mayStop(c); err != nil {
		return err
	}
	_ = m.Reply(nil)
	d.log.Info("asked to end", "by", c.pid)
	time.AfterFunc(10*time.Millisecond, d.Stop)
	return nil
}

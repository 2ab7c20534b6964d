package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
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
	wire.TBlocked:     (*Daemon).blocked,
	wire.TUnblocked:   (*Daemon).unblocked,
	wire.TWhoHolds:    (*Daemon).explainWait,

	wire.TWorkerReady: workerOnly((*Daemon).readyWorker),
	wire.TWorkerExit:  workerOnly((*Daemon).exitingWorker),
	wire.TActorReady:  workerOnly((*Daemon).readyActor),
	wire.TTakeOver:    (*Daemon).answerTakeOver,

	wire.TObjCreate: (*Daemon).createObject,
	wire.TObjReuse:  (*Daemon).reuse,
	wire.TObjSeal:   objectOnly((*Daemon).sealObject),
	wire.TObjSealed: objectOnly((*Daemon).sealPinned),
	wire.TObjPin:    objectOnly((*Daemon).pinObject),
	wire.TObjPins:   (*Daemon).pinAll,
	wire.TObjUnpin:  objectOnly((*Daemon).unpinObject),
	wire.TObjFree:   (*Daemon).freeObjects,
	wire.TObjStats:  (*Daemon).objectStats,
	wire.TObjCheck:  (*Daemon).checkObjects,

	wire.TForget:    (*Daemon).forgetFunction,
	wire.TCensus:    inBackground((*Daemon).answerCensus),
	wire.TFootprint: inBackground((*Daemon).answerFootprint),
	wire.TGPUWatch:  inBackground((*Daemon).answerGPUWatch),
	wire.TGPUUsed:   inBackground((*Daemon).answerGPUHeld),
	wire.TShutdown:  (*Daemon).shutDown,
}

// headRequests are the messages that need the head role. They wait in the process's
// queue, since a request to the head may wait for a commit.
var headRequests = map[wire.Type]func(d *Daemon, c *client, m *wire.Message){
	wire.TJobStart:     (*Daemon).startJob,
	wire.TJobEnd:       (*Daemon).jobEnd,
	wire.TActorCreate:  (*Daemon).createActor,
	wire.TActorResolve: (*Daemon).resolve,
	wire.TActorLost:    (*Daemon).actorLost,
	wire.TActorKill:    question((*Daemon).killActor),
	wire.TActorRelease: question((*Daemon).releaseActor),
	wire.TActorByName:  question((*Daemon).actorByName),
	wire.TActorNames:   question((*Daemon).actorNames),
	wire.TCodePart:     question((*Daemon).codePart),
	wire.TCodeGet:      question((*Daemon).codeGet),
	wire.TCodeDrop:     question((*Daemon).codeDrop),
	wire.TKVPut:        question((*Daemon).kvPut),
	wire.TKVGet:        question((*Daemon).kvGet),
	wire.TKVDel:        question((*Daemon).kvDel),
	wire.TKVKeys:       question((*Daemon).kvKeys),
	wire.TClusterInfo:  question((*Daemon).answerClusterInfo),
}

// handle serves one message of a process, on its connection's goroutine.
func (d *Daemon) handle(c *client, m *wire.Message) {
	if err := mayAsk(c, m.Type); err != nil {
		d.refuse("message refused", err)
		_ = m.Fail(err)
		return
	}
	if serve := headRequests[m.Type]; serve != nil {
		served := func() {}
		if m.Type == wire.TActorCreate {
			served = d.beginRegistration(c)
		}
		c.tasks.add(func() {
			defer served()
			select {
			case <-d.headSet:
				serve(d, c, m)
			case <-d.stop:
				_ = m.Fail(fault.New(fault.Closed, "the daemon is ending"))
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
func question(f func(d *Daemon, ctx context.Context, c *client, m *wire.Message) (any, error)) func(*Daemon, *client, *wire.Message) {
	return func(d *Daemon, c *client, m *wire.Message) {
		ctx, cancel := d.headContext()
		defer cancel()
		reply, err := f(d, ctx, c, m)
		if err != nil {
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(reply)
	}
}

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

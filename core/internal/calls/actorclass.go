package calls

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/actorclass"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// creator is the process that creates an actor, as package actorclass uses it. The mutex is not held.
type creator Calls

var _ actorclass.Creator = (*creator)(nil)

// CallDaemon implements actorclass.Daemon.
func (x *creator) CallDaemon(t wire.Type, body, reply any) error {
	return x.objects.CallDaemon(t, body, reply)
}

// PushDaemon implements actorclass.Creator.
func (x *creator) PushDaemon(t wire.Type, body any) { x.objects.PushDaemon(t, body) }

// Read implements actorclass.Creator.
func (x *creator) Read(object ids.Object, f func(envelope []byte) error) error {
	found, err := x.objects.Get(object, -1)
	if err != nil {
		return err
	}
	if found.View != 0 {
		defer x.objects.Release(access.Drop{View: found.View})
	}
	if found.IsError {
		return fault.New(fault.ObjectLost, "object %s, which holds it, is lost", object)
	}
	return f(found.Envelope)
}

package worker

import (
	"context"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/ids"
)

// Info says what is known of the call that runs.
type Info struct {
	Name    string // of the function or method, as the caller calls it
	TaskID  string // in hex
	ActorID string // in hex; "": it is no actor's
	JobID   string // in hex
	NodeID  string // in hex
}

type callKey struct{}

// call is what a context of a call leads to.
type call struct {
	s    *server
	info Info
}

func of(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Session returns this program's membership in the cluster, for calls of further functions, for values and keys. It lasts as long as the
// process: Close does nothing. It is nil for a context that belongs to no call.
func Session(ctx context.Context) *core.Session {
	if c := of(ctx); c != nil {
		return c.s.public
	}
	return nil
}

// GPUs returns the ids of the GPUs that this call or actor may use, as the variable of their family shows them (CUDA_VISIBLE_DEVICES, for
// instance). There are none when it has not asked for any.
func GPUs(ctx context.Context) []string { return Devices(ctx, "GPU") }

// Devices returns the ids of the devices of a resource, such as "GPU", "TPU" or "neuron_cores", that this call or actor may use.
func Devices(ctx context.Context, resource string) []string {
	if c := of(ctx); c != nil {
		return c.s.assigned.of(resource)
	}
	return nil
}

// Resources returns the amounts that this call or actor holds.
func Resources(ctx context.Context) map[string]float64 {
	if c := of(ctx); c != nil {
		return c.s.assigned.amounts()
	}
	return nil
}

// Call returns what is known of the call that runs. All is empty for a context that belongs to no call.
func Call(ctx context.Context) Info {
	if c := of(ctx); c != nil {
		return c.info
	}
	return Info{}
}

func hexOf(id ids.Actor) string {
	if id == (ids.Actor{}) {
		return ""
	}
	return id.String()
}

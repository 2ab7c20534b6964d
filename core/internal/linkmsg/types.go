package linkmsg

import "github.com/eagleray/eagleray/core/internal/wire"

// The messages between a node and the head. Their numbers are never reused, and package wire leaves 240 to 255 to them.
const (
	THello      wire.Type = 240 // call, node → head: Hello → Welcome
	TAsk        wire.Type = 241 // call, node → head: Ask → Answer
	TDrop       wire.Type = 242 // push, node → head: Number: nobody waits for that answer any more
	TReport     wire.Type = 243 // push, node → head: Told
	TReported   wire.Type = 244 // push, head → node: Number: reports up to this one are committed
	TOrder      wire.Type = 245 // push, head → node: Told
	TOrderTaken wire.Type = 246 // push, node → head: Number: orders up to this one are carried out or will be
	TNews       wire.Type = 247 // push, head → node: News
	TStock      wire.Type = 248 // push, node → head: Stock: what the node has free now
	TWant       wire.Type = 249 // push, node → head: Want: leases for which the node has no room
	TOffer      wire.Type = 250 // push, head → node: Offer: another node has room
	TSettled    wire.Type = 251 // push, node → head: Settled: an offer was taken, refused or not used
	TInfeasible wire.Type = 252 // push, head → node: Infeasible: no node can ever give that
	TBeat       wire.Type = 253 // push, node → head: Number: the node lives; heartbeats are numbered
	TCounted    wire.Type = 254 // push, head → node: Number: that heartbeat counts
)

// Number is the body of a message that names a request, a report or an order.
type Number struct {
	N uint64 `msgpack:"n"`
}

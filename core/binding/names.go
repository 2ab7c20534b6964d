package binding

import (
	"unsafe"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/transport"
)

// The session and what goes into its methods and comes out of them.
type (
	Client    = client.Client
	Options   = client.Options
	Call      = client.Call
	Template  = client.Template
	ActorSpec = client.ActorSpec
	Value     = client.Value
	Found     = client.Found
	Item      = client.Item
	Drop      = client.Drop
	RefBatch  = refs.Batch
	Envelope  = store.Envelope
)

// The forms of a value that the program encodes, and the kind of a template.
const (
	FmtMsgpack  = client.FmtMsgpack
	FmtArgsPack = client.FmtArgsPack
	KindTask    = client.KindTask
	PathPrefix  = client.PathPrefix
)

// How many objects a wait is for, and where they have to be.
const (
	WaitSome = client.WaitSome
	WaitAll  = client.WaitAll
	WaitHere = client.WaitHere
)

// What a worker is given that is no call.
const (
	ItemActor = client.ItemActor
	ItemExit  = client.ItemExit
)

// Lend keeps what a found object shows until the program lets go of it.
func Lend(f *Found) { client.Lend(f) }

// DropOrphans lets go of what a program held of a session that has ended.
func DropOrphans(list []Drop) { client.DropOrphans(list) }

// The formats of an object's envelope.
const (
	FormatNone      = store.FormatNone
	FormatMsgpack   = store.FormatMsgpack
	FormatError     = store.FormatError
	FormatFault     = store.FormatFault
	FormatElsewhere = store.FormatElsewhere
)

// ParseEnvelope reads an object's envelope.
func ParseEnvelope(b []byte) (Envelope, error) { return store.Parse(b) }

// Shortage says which of the amounts of need, in units by a resource's name, exceed totals; "" when none does.
func Shortage(need, totals map[string]int64) string {
	return resource.Shortage(resource.FromWire(need), resource.FromWire(totals))
}

// Background is a session's background poller, which runs on a thread of C.
type Background = transport.Background

// BackgroundEnds is the mode of a background poller whose session has ended.
const BackgroundEnds = transport.ModeEnd

// The stages of a call that is traced.
const (
	TraceCalled   = trace.Called
	TracePacked   = trace.Packed
	TraceReturned = trace.Returned
	TraceTaken    = trace.Taken
	TraceEncoded  = trace.Encoded
	TraceFound    = trace.Found
	TraceGiven    = trace.Given
)

// TraceRing returns the ring that C writes its stages into, nil when nothing is traced.
func TraceRing() unsafe.Pointer { return trace.Ring() }

package client

import (
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/calls"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/executor"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/templates"
)

// What the program names of the submitting half.
type (
	Template    = submit.Template
	ActorSpec   = actors.Spec
	ActorCode   = actors.Code
	StreamState = generators.State
)

// CallsUntilLeak as Template.MaxCalls ends a worker whose device memory grows.
const CallsUntilLeak = templates.CallsUntilLeak

// How far a generator is.
const (
	StreamWaits  = generators.Waits
	StreamItem   = generators.Item
	StreamFailed = generators.Failed
	StreamEnd    = generators.End
)

// What the program names of objects and values.
type (
	Value    = access.Value
	Found    = access.Found
	Drop     = access.Drop
	WaitMode = access.WaitMode
)

// MaxInline is the largest envelope that travels in a message; larger ones go
// through the arena. Bytes.
const MaxInline = frame.MaxInline

// When Wait returns.
const (
	WaitSome = access.WaitSome
	WaitAll  = access.WaitAll
	WaitHere = access.WaitHere
)

// Formats of envelopes, as Value.Fmt: see package store.
const (
	FmtNone     = 0
	FmtMsgpack  = 1
	FmtNDArray  = 2
	FmtPickle   = 3
	FmtError    = 4
	FmtBytes    = 5
	FmtArgs     = 6
	FmtArgsPack = 7
	FmtFault    = 8

	FmtElsewhere = 11
)

// What Drop.View says when references of a batch go, and when the program reads the generator of that object no more.
const (
	DropSome   = refs.DropSome
	DropLast   = refs.DropLast
	DropStream = refs.DropStream
)

// Lend makes a loan of a value that was found, if it is one to be lent: then its
// View is one that has to be given back like others.
func Lend(f *Found) { access.Lend(f) }

// EndLoan takes a loan back.
func EndLoan(view uint64) { access.EndLoan(view) }

// Loans returns how many values are lent to the program.
func Loans() int { return access.Loans() }

// DropOrphans handles what the program let go of while it has no session.
func DropOrphans(list []Drop) { access.DropOrphans(list) }

// What a worker's program names of its calls.
type (
	Item           = executor.Item
	RemoteTemplate = execute.Template
	FeedState      = execute.FeedState
)

// SystemGroup is a concurrency group that every actor has. Its thread begins with its first call.
const SystemGroup = execute.SystemGroup

// What NextTask gives.
const (
	ItemTask   = executor.ItemTask
	ItemMethod = executor.ItemMethod
	ItemAssign = executor.ItemAssign
	ItemActor  = executor.ItemActor
	ItemExit   = executor.ItemExit
	ItemForget = executor.ItemForget
)

// What a generator is to do.
const (
	FeedOpen      = execute.FeedOpen
	FeedFull      = execute.FeedFull // wait: FeedRoom
	FeedClosed    = execute.FeedClosed
	FeedCancelled = execute.FeedCancelled
)

// Call is one submission.
type Call = calls.Call

// NoParent as Call.Parent says that no running call submits the task.
const NoParent = calls.NoParent

// PathPrefix marks the blob of a function that the worker imports instead of
// unpickling it: the prefix, then "module:name".
const PathPrefix = calls.PathPrefix

package executor

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Value is a value on its way out of the program, Found one on its way in.
type (
	Value = envelope.Value
	Found = nodestore.Found
)

// What NextTask gives.
const (
	ItemTask = iota + 1
	ItemMethod
	ItemAssign
	ItemActor
	ItemExit
	ItemForget
)

// Item is one thing for the worker's program to do.
type Item struct {
	Kind    int
	Token   uint64 // for Reply
	Tmpl    *execute.Template
	Args    Found
	Deps    []Found
	Returns int
	TaskID  ids.Task
	Blob    []byte // ItemAssign: the assignment, as a msgpack map; ItemForget: a function's id
	Actor   *wire.ActorStart
	Reason  string // ItemExit
}

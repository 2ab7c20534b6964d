package client

import "github.com/eagleray/eagleray/core/internal/frame"

// Kinds of templates.
const (
	KindTask   = frame.KindTask
	KindMethod = frame.KindMethod
)

// Modes of a Flow.
const (
	FlowStream  = frame.FlowStream
	FlowDynamic = frame.FlowDynamic
)

// Flow says how the results of a generator travel. Mode 0: it is none.
type Flow = frame.Flow

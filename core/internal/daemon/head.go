package daemon

import "github.com/eagleray/eagleray/core/internal/inquiry"

// Head is the head as the node role needs it.
type Head = inquiry.Head

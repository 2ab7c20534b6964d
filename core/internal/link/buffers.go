package link

import (
	"sync"

	"github.com/eagleray/eagleray/core/internal/resume"
)

// Buffers of connections. An idle connection keeps smallRead only.
const (
	smallRead = 2 << 10
	largeRead = 2 * resume.MaxFrame
	batchSize = resume.Batch + resume.MaxFrame
)

var (
	batches = sync.Pool{New: func() any { b := make([]byte, 0, batchSize); return &b }}
	reads   = sync.Pool{New: func() any { b := make([]byte, largeRead); return &b }}
)

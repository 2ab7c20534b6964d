package client

import (
	"github.com/eagleray/eagleray/core/internal/resource"
)

const mib = int64(1<<20) * int64(resource.Unit)

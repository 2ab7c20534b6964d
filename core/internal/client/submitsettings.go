package client

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/eagleray/eagleray/core/internal/submit"
)

// retryDelayVar names the setting with the least delay before a retry, in milliseconds.
const retryDelayVar = "task_retry_delay_ms"

// defaultLineageBytes bounds the memory of the finished tasks that a process keeps.
const defaultLineageBytes = 1 << 30

// lineageShare is the part of the store that values held only by lineage may take. These
// are values that put made, or that were passed as large arguments, so they cannot be
// computed again.
const lineageShare = 4

// newLineage reads what may be kept to compute lost objects again.
func (c *Client) newLineage(arena uint64) submit.Lineage {
	l := submit.Lineage{Limit: defaultLineageBytes}
	if v, ok := c.setting("max_lineage_bytes"); ok {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			fmt.Fprintf(os.Stderr, "eagleray: RAY_max_lineage_bytes=%q is not a number of bytes: the default, %d, holds\n", v, l.Limit)
		} else {
			l.Limit = n
		}
	}
	v, _ := c.setting("lineage_pinning_enabled")
	l.Off = slices.Contains([]string{"0", "false", "False"}, v)
	l.Bytes = min(l.Limit, arena/lineageShare)
	return l
}

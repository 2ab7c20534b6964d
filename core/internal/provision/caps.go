package provision

import (
	"fmt"
	"math"
	"strconv"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// defaultCap is how large the folders of one field may be that nobody uses, in bytes. It is Ray's.
const defaultCap = 10 << 30

// variables have the caps of the fields whose needs are folders, in gigabytes. The names are Ray's.
var variables = map[string]string{
	wire.NeedWorkingDir: "RAY_RUNTIME_ENV_WORKING_DIR_CACHE_SIZE_GB",
	wire.NeedModule:     "RAY_RUNTIME_ENV_PY_MODULES_CACHE_SIZE_GB",
	wire.NeedPip:        "RAY_RUNTIME_ENV_PIP_CACHE_SIZE_GB",
	wire.NeedUv:         "RAY_RUNTIME_ENV_UV_CACHE_SIZE_GB",
}

// CapsFromEnv returns the caps of the fields.
func CapsFromEnv(look func(string) (string, bool)) (map[string]int64, error) {
	caps := make(map[string]int64, len(variables))
	for field, name := range variables {
		text, ok := look("EAGLE" + name)
		if ok {
			name = "EAGLE" + name
		} else {
			text, ok = look(name)
		}
		caps[field] = defaultCap
		if !ok || text == "" {
			continue
		}
		gb, err := strconv.ParseFloat(text, 64)
		if err != nil || !(gb >= 0 && gb <= 1<<20) {
			return nil, fmt.Errorf("%s=%q: it must be a number of gigabytes from 0 on, as 10", name, text)
		}
		caps[field] = int64(math.Round(gb * (1 << 30)))
	}
	return caps, nil
}

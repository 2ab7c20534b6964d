package pybind

import (
	"encoding/json"
	"fmt"

	"github.com/eagleray/eagleray/core/binding"
)

// Shortage explains what of need exceeds totals and names the nearest thing
// that exists. Both are JSON objects of units by resource name; "" when need fits.
func Shortage(need, totals string) (string, error) {
	var n, t map[string]int64
	for text, to := range map[string]*map[string]int64{need: &n, totals: &t} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return "", fmt.Errorf("shortage: amounts %.80q: %w", text, err)
		}
	}
	return binding.Shortage(n, t), nil
}

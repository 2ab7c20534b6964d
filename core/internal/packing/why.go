package packing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
)

// maxNamed is how many bundles a message names.
const maxNamed = 8

// Why says in words why nodes can never have the bundles of a group, and what to change. Most is what one node has at most of each resource, and others are reasons
// that its caller knows.
func Why(group string, s Strategy, needs []resource.Set, most resource.Set, others []string) string {
	short := slices.Clone(others[:min(len(others), maxNamed)])
	for i, need := range needs {
		if text := resource.Shortage(need, most); text != "" && len(short) < maxNamed {
			short = append(short, fmt.Sprintf("bundle %d needs %s (%s)", i, need, text))
		}
	}
	text := strings.Join(short, "; ")
	switch {
	case text != "":
	case s == StrictPack:
		sum := make(resource.Set)
		for _, need := range needs {
			sum.Add(need)
		}
		text = fmt.Sprintf("all bundles have to be on one node (STRICT_PACK), and together they need %s", sum)
		if short := resource.Shortage(sum, most); short != "" {
			text += " (" + short + ")"
		}
	case s == StrictSpread:
		text = fmt.Sprintf("each of its %d bundles has to be on a node of its own (STRICT_SPREAD), and fewer nodes are alive that could have them", len(needs))
	default:
		text = "the nodes could not have all bundles together, even if all of them were free"
	}
	return fmt.Sprintf("%s can never be placed: %s. Ask for less, choose another strategy, or add nodes (eagleray start --address=… --num-cpus=… --resources=…).", group, text)
}

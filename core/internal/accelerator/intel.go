package accelerator

import "strings"

const (
	oneAPIVar     = "ONEAPI_DEVICE_SELECTOR"
	oneAPIBackend = "level_zero"
	// noGPU discards all GPUs. An empty selector would discard nothing.
	noGPU = "!*:gpu"
)

var intel = Family{
	Name:      "intel",
	Resource:  GPU,
	Vars:      []string{oneAPIVar},
	Fractions: true,
	detect:    detectIntel,
	limit:     intelLimit,
	env: func(g *Group, ids []string) map[string]string {
		if len(ids) == 0 {
			return map[string]string{oneAPIVar: noGPU}
		}
		return map[string]string{oneAPIVar: g.form + strings.Join(ids, ",")}
	},
}

// intelLimit reads a selector: terms separated by ";", each a backend, ":" and
// devices; or just indices. The form of the node is kept for its workers.
func intelLimit(env Lookup) (limit, error) {
	l := limit{form: oneAPIBackend + ":"}
	value, set := env(oneAPIVar)
	if !set {
		return l, nil
	}
	l.set = true
	discardsOnly := value != ""
	for term := range strings.SplitSeq(value, ";") {
		term = strings.TrimSpace(term)
		if discarded, ok := strings.CutPrefix(term, "!"); ok {
			if discarded == "*:gpu" || discarded == "*:*" || discarded == oneAPIBackend+":gpu" || discarded == oneAPIBackend+":*" {
				return l, nil
			}
			continue
		}
		discardsOnly = false
		backend, devices, hasBackend := strings.Cut(term, ":")
		if !hasBackend {
			backend, devices = "*", term
		}
		if backend != oneAPIBackend && backend != "*" {
			continue
		}
		for _, d := range splitIDs(devices) {
			if d == "*" || d == "gpu" {
				l.set = false
			} else if d[0] >= '0' && d[0] <= '9' {
				l.ids = append(l.ids, d)
			}
		}
		if len(l.ids) > 0 {
			l.form = strings.TrimSuffix(term, devices)
		}
	}
	if discardsOnly {
		l.set = false // what is not discarded is visible
	}
	return l, nil
}

package workers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// runtimeEnvVar is the variable of an environment that has its runtime environment as the user has written it, in JSON. An environment without one
// is that of a program which has asked for nothing.
const runtimeEnvVar = "EAGLERAY_RUNTIME_ENV"

// The environments that could not be set up and are shown: their number, and for how long.
const (
	keptFailures   = 100
	failureShown   = 10 * time.Minute
	maxFailureText = 4 << 10
)

// RuntimeEnvs returns the runtime environments of this node: those for which a zygote is there or begins, and those that could not be set up in the
// last minutes. Environments of several jobs that say the same are one row.
func (t *Table) RuntimeEnvs() []wire.EnvRow {
	rows := make(map[string]*wire.EnvRow)
	row := func(text string) *wire.EnvRow {
		if rows[text] == nil {
			rows[text] = &wire.EnvRow{RuntimeEnv: text}
		}
		return rows[text]
	}
	now := time.Now()
	t.failures = slices.DeleteFunc(t.failures, func(f envFailure) bool { return now.Sub(f.at) > failureShown })
	for _, f := range t.failures {
		row(f.text).Error = f.why
	}
	for _, z := range t.zygotes {
		if z.asked == "" {
			continue
		}
		r := row(z.asked)
		if z.ready {
			r.Success, r.Error, r.SetupUs = true, "", max(r.SetupUs, z.took.Microseconds())
		}
	}
	for w := range t.workers {
		if w.zygote != nil && w.state != Gone {
			if r := rows[w.zygote.asked]; r != nil {
				r.Users++
			}
		}
	}
	list := make([]wire.EnvRow, 0, len(rows))
	for _, text := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[text])
	}
	return list
}

// envFailure is a runtime environment that could not be set up.
type envFailure struct {
	text, why string
	at        time.Time
}

// noteFailure notes that a zygote has ended before it could fork, unless it was told to end; mu held.
func (t *Table) noteFailure(z *envZygote, why string) {
	text := z.asked
	if text == "" || z.ready || z.killed || z.told() || t.closing {
		return
	}
	t.failures = slices.DeleteFunc(t.failures, func(f envFailure) bool { return f.text == text })
	if len(t.failures) >= keptFailures {
		t.failures = t.failures[1:]
	}
	t.failures = append(t.failures, envFailure{text, strings.ToValidUTF8(why[:min(len(why), maxFailureText)], ""), time.Now()})
}

// told reports whether the zygote was told to end.
func (z *Zygote) told() bool {
	select {
	case <-z.stop:
		return true
	default:
		return false
	}
}

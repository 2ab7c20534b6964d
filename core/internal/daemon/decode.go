package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func decodeObject(m *wire.Message, q any, raw *[]byte) (ids.Object, error) {
	if err := m.Decode(q); err != nil {
		return ids.Object{}, err
	}
	id, err := ids.ParseObject(*raw)
	if err != nil {
		return id, fault.New(fault.BadRequest, "%s: %v", m.Type, err)
	}
	return id, nil
}

func decodeActor(m *wire.Message, q any, raw *[]byte) (id ids.Actor, err error) {
	if err := m.Decode(q); err != nil {
		return id, err
	}
	if len(*raw) != ids.ActorSize {
		return id, fault.New(fault.BadRequest, "%s: an actor id has %d bytes, not %d", m.Type, ids.ActorSize, len(*raw))
	}
	return ids.Actor(*raw), nil
}

func checkAmounts(a map[string]int64) error {
	if len(a) > wire.MaxAmounts {
		return fault.New(fault.BadRequest, "%d resource names, at most %d are allowed", len(a), wire.MaxAmounts)
	}
	for name, n := range a {
		if n < 0 {
			return fault.New(fault.BadRequest, "resource %s: negative amount", name)
		}
	}
	return nil
}

func checkFallback(list []wire.Alternative, afterMs int64) error {
	if len(list) > wire.MaxAlternatives || afterMs < 0 {
		return fault.New(fault.BadRequest, "fallback: %d alternatives after %d ms, at most %d are allowed", len(list), afterMs, wire.MaxAlternatives)
	}
	for _, o := range list {
		if err := errors.Join(checkAmounts(o.Resources), checkAmounts(o.RunResources)); err != nil {
			return fmt.Errorf("fallback: %w", err)
		}
	}
	return nil
}

// maxAfter is longer than any session.
const maxAfter = 100 * 365 * 24 * time.Hour

func afterOf(ms int64) time.Duration {
	return time.Duration(min(ms, maxAfter.Milliseconds())) * time.Millisecond
}

package headprocess

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// keyState is the state of the cluster as the keys need it. A head has them from its file before it has read its state, and only the head that leads changes
// them. It is a trust.State.
type keyState struct {
	mu    sync.Mutex
	file  *headgroup.File
	state *raftstate.Node // nil: it is not open yet
}

func (k *keyState) open(state *raftstate.Node) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = state
}

func (k *keyState) now() (*raftstate.Node, []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.file.Keys
}

// Setting returns a setting of the state; of the keys what the file has while the state has none.
func (k *keyState) Setting(name string) ([]byte, bool) {
	state, keys := k.now()
	if state != nil {
		if b, known := state.Setting(name); known {
			return b, true
		}
	}
	return keys, name == trust.Setting && keys != nil
}

// PutSetting changes a setting in the state. Before the state is open, it changes the file.
func (k *keyState) PutSetting(ctx context.Context, name string, value []byte) error {
	put, err := k.reign()
	if err != nil {
		return err
	}
	return put(ctx, name, value)
}

// reign is trust.Options.Reign. The head's term ends what it puts, so no other head changes anything in between.
func (k *keyState) reign() (trust.PutSetting, error) {
	state, _ := k.now()
	if state == nil {
		return func(_ context.Context, _ string, value []byte) error { k.setFile(value); return nil }, nil
	}
	reign := state.Reigns()
	if reign == nil || reign.Confirm() != nil {
		return nil, join.ErrNotLeader
	}
	return func(ctx context.Context, name string, value []byte) error {
		// Who gives up waiting does not stop the change, and the next one must find it in the state. It takes no longer than this head leads.
		err := reign.PutSetting(context.WithoutCancel(ctx), name, value)
		if errors.Is(err, raftstate.ErrDeposed) && !errors.Is(err, record.ErrMayHaveBeenApplied) {
			return join.ErrNotLeader
		}
		return err
	}, nil
}

func (k *keyState) setFile(keys []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.file.Keys = keys
}

// ListNodes returns the nodes; none before the state is open.
func (k *keyState) ListNodes() []record.Node {
	if state, _ := k.now(); state != nil {
		return state.ListNodes()
	}
	return nil
}

// LastNumber returns the highest number that was given, on the head that leads.
func (k *keyState) LastNumber() (uint32, error) {
	state, _ := k.now()
	if state == nil {
		return 0, join.ErrNotLeader
	}
	last, err := state.LastNumber()
	if errors.Is(err, raftstate.ErrNotLeader) {
		err = join.ErrNotLeader
	}
	return last, err
}

// NodeGone declares a node dead.
func (k *keyState) NodeGone(ctx context.Context, id ids.Node, reason string, atMs int64) error {
	state, _ := k.now()
	return state.NodeGone(ctx, id, reason, atMs)
}

// followKeys follows the keys in the state, which other heads may change, and keeps them in the file, until the context ends.
func followKeys(ctx context.Context, state *raftstate.Node, keys *trust.Keeper, book *headgroup.Book) error {
	for from := state.Now(); ; {
		if keys.Changed() {
			if sealed, known := state.Setting(trust.Setting); known {
				book.SetKeys(sealed)
			}
		}
		for {
			batch, err := state.Watch(ctx, from)
			if errors.Is(err, record.ErrCompacted) {
				from = state.Now()
				break
			}
			if err != nil {
				return err
			}
			changed := slices.ContainsFunc(batch.Events, func(e record.Event) bool { return e.Kind == record.SettingPutEvent && e.Key == trust.Setting })
			if from = batch.Next; changed {
				break
			}
		}
	}
}

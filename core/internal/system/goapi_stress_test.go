package system

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/fault"
)

// Many goroutines use one session in all ways at once; with -race this looks
// for unguarded state in the client.
func TestGoAPI_ManyGoroutines_NoRaceAndRightAnswers(t *testing.T) {
	o := cluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	s := must[*core.Session](t)(core.Connect(ctx, o))
	defer s.Close()
	double := must[*core.Function](t)(s.Function("goapi_mod:double", core.Call{}))
	boom := must[*core.Function](t)(s.Function("goapi_mod:boom", core.Call{}))
	sleep := must[*core.Function](t)(s.Function("goapi_mod:sleep", core.Call{}))
	actor := must[*core.Actor](t)(s.NewActor(ctx, "goapi_mod:Sum", core.Call{}, 0))
	big := strings.Repeat("x", 300_000)

	steps := map[string]func(i int) error{
		"chain": func(i int) error {
			a, err := core.Submit[int](ctx, double, i)
			if err != nil {
				return err
			}
			b, err := core.Submit[int](ctx, double, a)
			if err != nil {
				return err
			}
			if v, err := core.Get(ctx, b); err != nil || v != 4*i {
				return fmt.Errorf("%d, %w", v, err)
			}
			return nil
		},
		"wait": func(i int) error {
			var refs []core.AnyRef
			for j := range 10 {
				r, err := core.Submit[int](ctx, double, i+j)
				if err != nil {
					return err
				}
				refs = append(refs, r)
			}
			for len(refs) > 0 {
				ready, rest, err := core.Wait(ctx, refs, 1)
				if err != nil || len(ready) != 1 {
					return fmt.Errorf("%d ready, %w", len(ready), err)
				}
				refs = rest
			}
			return nil
		},
		"arena": func(int) error {
			r, err := core.Put(ctx, s, big)
			if err != nil {
				return err
			}
			d, err := core.Submit[string](ctx, double, r)
			if err != nil {
				return err
			}
			if v, err := core.Get(ctx, d); err != nil || len(v) != 2*len(big) {
				return fmt.Errorf("%d bytes, %w", len(v), err)
			}
			return nil
		},
		"error": func(int) error {
			r, err := core.Submit[int](ctx, boom)
			if err != nil {
				return err
			}
			var remote *core.RemoteError
			if _, err := core.Get(ctx, r); !errors.As(err, &remote) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		},
		"actor": func(int) error {
			r, err := core.Invoke[int](ctx, actor, "add", 1)
			if err != nil {
				return err
			}
			_, err = core.Get(ctx, r)
			return err
		},
		"cancel": func(int) error {
			r, err := core.Submit[any](ctx, sleep, 0.02)
			if err != nil {
				return err
			}
			if err := r.Cancel(ctx, false); err != nil {
				return err
			}
			if _, err := core.Get(ctx, r); err != nil && fault.CodeOf(err) != fault.TaskCancelled {
				var remote *core.RemoteError
				if !errors.As(err, &remote) {
					return err
				}
			}
			return nil
		},
		"drop": func(i int) error {
			for j := range 50 {
				if _, err := core.Submit[int](ctx, double, i+j); err != nil {
					return err
				}
			}
			runtime.GC()
			return nil
		},
	}
	var wg sync.WaitGroup
	until := time.Now().Add(4 * time.Second)
	for name, step := range steps {
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := 0; time.Now().Before(until); i++ {
					if err := step(i); err != nil {
						t.Errorf("%s, step %d: %v", name, i, err)
						return
					}
				}
			}()
		}
	}
	wg.Wait()
}

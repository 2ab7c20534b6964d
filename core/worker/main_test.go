package worker_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/core/worker"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

// program is the path of this test's own program, which is the worker program of its tests, too.
var program string

func TestMain(m *testing.M) {
	if worker.Started() {
		register()
		worker.Main()
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	fail := func(what string, err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		return 1
	}
	folder, err := os.MkdirTemp("", "er") // short: the sockets' paths have a limit
	if err != nil {
		return fail("a folder", err)
	}
	defer os.RemoveAll(folder)
	for name, text := range map[string]string{"EAGLERAY_TMPDIR": folder, "RAY_ADDRESS": "", "EAGLERAY_ADDRESS": ""} {
		if err := os.Setenv(name, text); err != nil {
			return fail("set "+name, err)
		}
	}
	if program, err = os.Executable(); err != nil {
		return fail("the tests' program", err)
	}
	binary := filepath.Join(folder, "eagleray")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/eagleray").CombinedOutput(); err != nil {
		return fail("build the daemon: "+string(out), err)
	}
	if out, err := exec.Command(binary, "start", "--head", "--num-cpus=4", "--num-gpus=2", "--object-store-memory=100000000").CombinedOutput(); err != nil {
		return fail("start: "+string(out), err)
	}
	defer func() {
		if out, err := exec.Command(binary, "stop").CombinedOutput(); err != nil && code == 0 {
			code = fail("stop: "+string(out), err)
		}
	}()
	return m.Run()
}

// register has what a program's main function has.
func register() {
	worker.Function2("sum", func(_ context.Context, a, b int) (int, error) { return a + b, nil })
	worker.Function0("gpus", func(ctx context.Context) ([]string, error) { return worker.GPUs(ctx), nil })
	worker.Stream1("squares", func(_ context.Context, n int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i*i, nil) {
					return
				}
			}
		}
	})
	worker.Function1("root", func(_ context.Context, x float64) (float64, error) {
		if x < 0 {
			return 0, worker.NoRetry(fmt.Errorf("%v has no root", x))
		}
		return x / 2, nil
	})
	worker.Function("index", func(list []int, i int) int { return list[i] })
	worker.Function("once", func(path string) (string, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "done", nil
		}
		f.Close()
		return "", errors.New("not yet")
	})
	worker.Function("wait", func(ctx context.Context, path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	worker.Function("resources", func(ctx context.Context) (map[string]float64, error) { return worker.Resources(ctx), nil })
	worker.Function("double_sum", func(ctx context.Context, a, b int) (int, error) {
		f, err := worker.Session(ctx).GoFunction("sum", core.Call{})
		if err != nil {
			return 0, err
		}
		r, err := core.Submit[int](ctx, f, a+b, a+b)
		if err != nil {
			return 0, err
		}
		return core.Get(ctx, r)
	})
	worker.Function("group", func(ctx context.Context) (bool, error) {
		s := worker.Session(ctx)
		f, err := s.GoFunction("sum", core.Call{Resources: map[string]float64{"GPU": 1}})
		if err != nil {
			return false, err
		}
		r, err := core.Submit[int](ctx, f, 1, 1)
		if err != nil {
			return false, err
		}
		n, err := core.Get(ctx, r)
		return n == 2, err
	})
	worker.Function("keys", func(ctx context.Context, key string) (string, error) {
		s := worker.Session(ctx)
		if err := s.Close(); err != nil {
			return "", err
		}
		version, err := s.KV().CompareAndSwap(ctx, key, 0, []byte("from a worker"))
		if err != nil {
			return "", err
		}
		lease, err := s.KV().Lease(ctx, 10*time.Second)
		if err != nil {
			return "", err
		}
		if _, err := lease.Put(ctx, key+"/leased", []byte{1}); err != nil {
			return "", err
		}
		if err := lease.End(ctx); err != nil {
			return "", err
		}
		value, again, err := s.KV().Get(ctx, key)
		if err == nil && again != version {
			err = fmt.Errorf("version %d, and then %d", version, again)
		}
		return string(value), err
	})
	worker.Function("env", os.Getenv)
	worker.Actor("Account", NewAccount)
}

// Account is the actor of these tests.
type Account struct{ balance int }

// NewAccount begins with an amount.
func NewAccount(balance int) (*Account, error) {
	if balance < 0 {
		return nil, errors.New("no debts")
	}
	return &Account{balance}, nil
}

// Deposit adds.
func (a *Account) Deposit(_ context.Context, n int) (int, error) {
	a.balance += n
	return a.balance, nil
}

// Pid is that of the process.
func (a *Account) Pid() int { return os.Getpid() }

// Exit ends the process.
func (a *Account) Exit() { os.Exit(1) }

func connect() *core.Session {
	s, err := core.Connect(context.Background(), core.Options{Namespace: "tests", GoWorker: program})
	if err != nil {
		panic(err)
	}
	return s
}

// join connects for one test.
func join(t *testing.T) (context.Context, *core.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	s := connect()
	t.Cleanup(func() { _ = s.Close() })
	return ctx, s
}

// call calls a function of the program.
func call[T any](ctx context.Context, s *core.Session, name string, o core.Call, args ...any) (v T, err error) {
	f, err := s.GoFunction(name, o)
	if err != nil {
		return v, err
	}
	r, err := core.Submit[T](ctx, f, args...)
	if err != nil {
		return v, err
	}
	return core.Get(ctx, r)
}

package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestKind_FaultOfItsCodes_IsFound(t *testing.T) {
	lost := NewKind("the value is lost", ObjectLost, OwnerDied)
	for code, want := range map[Code]bool{ObjectLost: true, OwnerDied: true, Internal: false, "": false} {
		err := fmt.Errorf("get x: %w", New(code, "it went"))
		if errors.Is(err, lost) != want {
			t.Errorf("errors.Is for code %q is %v", code, !want)
		}
	}
	if errors.Is(errors.New("x"), lost) || errors.Is(New(ObjectLost, "x"), errors.New("x")) {
		t.Error("an error that has nothing to do with the kind was found")
	}
}

func TestCodeOf_EveryError_HasItsOwnCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("x"), Internal},
		{New(StoreFull, "x"), StoreFull},
		{fmt.Errorf("put: %w", New(StoreFull, "x")), StoreFull},
		{fmt.Errorf("get: %w", context.DeadlineExceeded), DeadlineExceeded},
		{fmt.Errorf("get: %w", context.Canceled), Canceled},
		{fmt.Errorf("connect: %w", NewKind("no cluster", NotFound)), NotFound},
		{NewKind("nothing"), Internal},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}

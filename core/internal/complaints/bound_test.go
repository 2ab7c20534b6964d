package complaints

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBound_ManyWarnings_AreCountedAndOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(Bound(slog.NewTextHandler(&b, nil)))
		lines := func() (n int) { defer b.Reset(); return strings.Count(b.String(), "\n") }
		for i := range 1000 {
			log.With("port", 1).Warn("refused", "from", i)
		}
		if n := lines(); n != boundCount {
			t.Errorf("%d lines of 1000 warnings", n)
		}
		for range 100 {
			log.Info("refused")
		}
		if n := lines(); n != 100 {
			t.Errorf("%d lines of 100 records that are no warnings", n)
		}
		for range 1000 {
			log.Error("refused")
		}
		if n := lines(); n != boundCount {
			t.Errorf("%d lines of 1000 errors", n)
		}
		log.Warn("another one")
		if n := lines(); n != 1 {
			t.Errorf("%d lines of another warning", n)
		}
		time.Sleep(boundTime)
		log.Warn("refused")
		if got := b.String(); !strings.Contains(got, fmt.Sprintf("omitted=%d", 1000-boundCount)) {
			t.Errorf("a minute later: %s", got)
		}
		b.Reset()
		log.Warn("refused")
		if got := b.String(); strings.Contains(got, "omitted") {
			t.Errorf("what was counted is counted again: %s", got)
		}
	})
}

func TestBound_EachWarningHasAMessageOfItsOwn_MemoryIsBounded(t *testing.T) {
	var b bytes.Buffer
	h := Bound(slog.NewTextHandler(&b, nil)).(*bound)
	log := slog.New(h)
	for i := range 3 * boundKinds {
		log.Warn(fmt.Sprint("message ", i))
	}
	if n := len(h.warnings.kinds); n > boundKinds+1 {
		t.Errorf("%d messages are remembered", n)
	}
	if n := strings.Count(b.String(), "\n"); n != boundKinds+boundCount {
		t.Errorf("%d lines", n)
	}
}

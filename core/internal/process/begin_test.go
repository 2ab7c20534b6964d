package process

import (
	"errors"
	"strings"
	"testing"
)

func TestConfigText_FromStandardInput_IsCapped(t *testing.T) {
	if got, err := ConfigText(`{"a": 1}`, nil); got != `{"a": 1}` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	long := strings.Repeat("x", longConfig)
	if got, err := ConfigText(FromStdin, strings.NewReader(long)); got != long || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var wrong *BadConfig
	if _, err := ConfigText(FromStdin, strings.NewReader(strings.Repeat("x", largeConfig+1))); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

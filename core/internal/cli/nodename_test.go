package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
)

var errNoHost = errors.New("no such host")

func TestLeadsSomewhere_NameWithoutAddress_SaysWhatToGive(t *testing.T) {
	var asked string
	err := leadsSomewhere("trunk", func(ctx context.Context, name string) ([]string, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the look-up has no deadline")
		}
		asked = name
		return nil, errNoHost
	})
	if asked != "trunk" || !errors.Is(err, errNoHost) || !strings.Contains(err.Error(), `the name "trunk" leads to no address (no such host); give an address of this machine`) {
		t.Errorf("asked for %q: %v", asked, err)
	}
}

func TestLeadsSomewhere_NameWithAddress_IsTaken(t *testing.T) {
	if err := leadsSomewhere("trunk", func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil }); err != nil {
		t.Error(err)
	}
}

func TestLeadsSomewhere_Address_IsNotLookedUp(t *testing.T) {
	for _, address := range []string{"", "10.11.12.13", "0.0.0.0", "::1", "fe80::1%eth0"} {
		err := leadsSomewhere(address, func(context.Context, string) ([]string, error) {
			t.Errorf("%q was looked up", address)
			return nil, errNoHost
		})
		if err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}

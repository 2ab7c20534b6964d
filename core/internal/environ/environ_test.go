package environ

import (
	"maps"
	"slices"
	"testing"
)

func TestWithout_Token_IsTakenOutAndAllElseStays(t *testing.T) {
	given := []string{"A=1", "RAY_AUTH_TOKEN=secret", "RAY_AUTH_TOKEN_PATH=/t", "RAY_AUTH_TOKEN", "B=RAY_AUTH_TOKEN=x"}
	before := slices.Clone(given)
	if got, want := Without(given), []string{"A=1", "RAY_AUTH_TOKEN_PATH=/t", "B=RAY_AUTH_TOKEN=x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(given, before) {
		t.Errorf("the given one became %q", given)
	}
	t.Setenv(Token, "secret")
	t.Setenv("ENVIRON_TEST", "1")
	if got := Public(); slices.Contains(got, Token+"=secret") || !slices.Contains(got, "ENVIRON_TEST=1") {
		t.Errorf("got %q", got)
	}
}

func TestWithoutIn_Token_IsTakenOutAndTheGivenMapStays(t *testing.T) {
	given := map[string]string{"A": "1", Token: "secret"}
	if got, want := WithoutIn(given), map[string]string{"A": "1"}; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if given[Token] != "secret" {
		t.Error("the given one was changed")
	}
	if got := WithoutIn(nil); got != nil {
		t.Errorf("of nothing %q is left", got)
	}
}

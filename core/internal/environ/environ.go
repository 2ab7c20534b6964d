package environ

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Token is the variable that holds the text of a cluster's token. The name is Ray's. python/eagleray/_private/calls/environments.py has it, too.
const Token = "RAY_AUTH_TOKEN"

// secret lists the variables that hold secrets. Variables that name the file of a secret are not among them.
var secret = []string{Token}

// Public returns the variables of this process, NAME=TEXT each, without secrets.
func Public() []string { return Without(os.Environ()) }

// Without returns an environment, NAME=TEXT each, without secrets. The one that was given is not changed.
func Without(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(secret, name)
	})
}

// WithoutIn is Without for an environment of names and texts. It returns the given map if there are no secrets in it.
func WithoutIn(environ map[string]string) map[string]string {
	has := func(name string) bool { _, ok := environ[name]; return ok }
	if !slices.ContainsFunc(secret, has) {
		return environ
	}
	public := maps.Clone(environ)
	for _, name := range secret {
		delete(public, name)
	}
	return public
}

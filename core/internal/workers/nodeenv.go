package workers

import (
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// addedVar is the variable of a job that names those which its zygotes need at their start and user code must not see;
// see python/eagleray/_private/calls/environments.py.
const addedVar = "EAGLERAY_ZYGOTE_ADDED"

// nodeEnv returns the variables of the node that workers of an environment see: those that neither the environment nor the
// program of its job sets.
func nodeEnv(node map[string]string, s *wire.EnvSpec) map[string]string {
	added := strings.Split(s.JobEnv[addedVar], ",")
	seen := make(map[string]string)
	for k, v := range node {
		_, ofEnv := s.Env[k]
		_, ofJob := s.JobEnv[k]
		if !ofEnv && (!ofJob || slices.Contains(added, k)) && validVar(k, v) {
			seen[k] = v
		}
	}
	return seen
}

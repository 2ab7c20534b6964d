package process

import (
	"os"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// TokenSource says where the processes of a node find the cluster's token. The token itself is in no command line and in
// no configuration.
type TokenSource struct {
	File     string `json:"file,omitempty"`     // a path; else
	Variable string `json:"variable,omitempty"` // the name of a variable whose value is the token
}

// Read returns the token.
func (s TokenSource) Read() (pki.Token, error) {
	if s.File != "" {
		return pki.ReadToken(s.File)
	}
	return pki.ParseToken(os.Getenv(s.Variable), "the variable "+s.Variable)
}

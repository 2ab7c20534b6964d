package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
)

// The variables that name the cluster's token. Those that begin with RAY_ are Ray's.
const (
	tokenFileVar    = "EAGLERAY_TOKEN_FILE"
	rayAuthModeVar  = "RAY_AUTH_MODE"
	rayTokenVar     = environ.Token
	rayTokenPathVar = "RAY_AUTH_TOKEN_PATH"
)

// tokenOf finds the token that the flags or the variables name. It returns false when they name none.
func tokenOf(flags map[string]string) (s process.TokenSource, given bool, err error) {
	path, name := flags["--token-file"], "--token-file"
	if path == "" {
		path, name = os.Getenv(tokenFileVar), tokenFileVar
	}
	mode := os.Getenv(rayAuthModeVar)
	if err := oneOf("", "token", "disabled")(mode); err != nil {
		return s, false, fmt.Errorf("%s: %q is not possible, must be token or disabled", rayAuthModeVar, mode)
	}
	ray := mode != "disabled"
	if path == "" && ray && os.Getenv(rayTokenVar) != "" {
		s = process.TokenSource{Variable: rayTokenVar}
		_, err := s.Read()
		return s, true, err
	}
	if path == "" && ray {
		path, name = os.Getenv(rayTokenPathVar), rayTokenPathVar
	}
	if path == "" {
		return s, false, nil
	}
	if s.File, err = filepath.Abs(path); err == nil {
		_, err = s.Read()
	}
	if err != nil {
		return s, false, fmt.Errorf("%s: %w", name, err)
	}
	return s, true, nil
}

// ownTokenFile is the token of the clusters that begin below a base, when no other one is given.
func ownTokenFile(base string) string { return filepath.Join(base, "token") }

// headToken returns the token of a cluster that begins on this machine: the one that was given, else that of the base, which is made
// if there is none.
func headToken(flags map[string]string, base string) (process.TokenSource, error) {
	s, given, err := tokenOf(flags)
	if given || err != nil {
		return s, err
	}
	s.File = ownTokenFile(base)
	_, err = s.Read()
	if errors.Is(err, fs.ErrNotExist) {
		err = pki.WriteToken(s.File, pki.NewToken(s.File))
		if errors.Is(err, fs.ErrExist) { // another command was quicker
			_, err = s.Read()
		}
	}
	return s, err
}

// joinToken returns the token to join a cluster with: the one that was given, else that of the base, which is the right one if the
// head is on this machine.
func joinToken(flags map[string]string, base string) (process.TokenSource, error) {
	s, given, err := tokenOf(flags)
	if given || err != nil {
		return s, err
	}
	s.File = ownTokenFile(base)
	_, err = s.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("joining a cluster needs its token: copy the file that `eagleray start --head` has printed to this machine (mode 0600) and give it with --token-file or %s, or set %s", tokenFileVar, rayTokenVar)
	}
	return s, err
}

package cli

import (
	"context"
	"fmt"

	"github.com/eagleray/eagleray/core/internal/heads"
)

// sessionOf returns the session of this machine's node in the cluster that has a head at HOST:PORT, however the host is spelled.
func sessionOf(base, address string) (string, error) {
	list, err := headAddresses(address)
	if err != nil {
		return "", err
	}
	var dirs []string
	for _, s := range startedBelow(base) {
		dirs = append(dirs, s.dir)
	}
	if now, err := currentSession(base); err == nil {
		dirs = heads.First(dirs, now)
	}
	if dir := heads.Among(context.Background(), list, dirs); dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("no node of the cluster at %s runs on this machine below %s; add one with: eagleray start --address=%s, or set EAGLERAY_TMPDIR to the folder that `eagleray start` was given with --temp-dir", address, base, address)
}

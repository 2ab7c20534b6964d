package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// headsName is the file in the folder of a session with the addresses of the heads, HOST:PORT, one a line. Programs that are
// given such an address find the session by it.
const headsName = "heads"

// writeHeads writes that file in one step.
func writeHeads(dir string, heads []string) error {
	path := filepath.Join(dir, headsName)
	if err := os.WriteFile(path+".new", []byte(strings.Join(heads, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("note the heads of the cluster: %w", err)
	}
	return os.Rename(path+".new", path)
}

// lookupLimit bounds how long a name of a head is looked up.
const lookupLimit = 5 * time.Second

// sessionOf returns the session of this machine's node in the cluster that has a head at HOST:PORT, however the host is spelled.
func sessionOf(base, address string) (string, error) {
	list, err := headAddresses(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	wanted := places(ctx, list)
	for _, s := range startedBelow(base) {
		text, err := os.ReadFile(filepath.Join(s.dir, headsName))
		if err != nil {
			continue
		}
		for _, place := range places(ctx, strings.Fields(string(text))) {
			if slices.Contains(wanted, place) {
				return s.dir, nil
			}
		}
	}
	return "", fmt.Errorf("no node of the cluster at %s runs on this machine below %s; add one with: eagleray start --address=%s", address, base, address)
}

// places returns the addresses, and those that their names stand for.
func places(ctx context.Context, addresses []string) (list []string) {
	for _, address := range addresses {
		list = append(list, address)
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		found, _ := net.DefaultResolver.LookupHost(ctx, host) // a name that is not known stands for itself
		for _, ip := range found {
			list = append(list, net.JoinHostPort(ip, port))
		}
	}
	return list
}

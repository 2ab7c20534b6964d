package heads

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Name is the file in the folder of a session with the addresses of the heads, HOST:PORT, one a line.
const Name = "heads"

// Bounds of the file, and of a list that somebody gives.
const (
	maxBytes = 64 << 10
	maxHeads = 16
)

// Write writes the file in one step.
func Write(dir string, list []string) error {
	path := filepath.Join(dir, Name)
	if err := os.WriteFile(path+".new", []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("note the heads of the cluster: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Is reports whether an address is meant as a list of heads, and not as the folder of a session.
func Is(address string) bool {
	return strings.ContainsAny(address, ":,") && !strings.Contains(address, "/")
}

// Parse reads HOST:PORT[,HOST:PORT…].
func Parse(text string) (list []string, err error) {
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		host, port, err := net.SplitHostPort(one)
		if n, e := strconv.ParseUint(port, 10, 16); err != nil || host == "" || e != nil || n == 0 {
			return nil, fmt.Errorf("%q is not HOST:PORT, such as 10.0.0.1:6379", one)
		}
		list = append(list, one)
	}
	if len(list) == 0 || len(list) > maxHeads {
		return nil, fmt.Errorf("%q names %d heads, must be 1 to %d", text, len(list), maxHeads)
	}
	return list, nil
}

// LookupLimit bounds how long names of heads are looked up.
const LookupLimit = 5 * time.Second

// Among returns the first of the sessions whose cluster has one of the heads, however their hosts are spelled; "" if there is none.
func Among(ctx context.Context, wanted, dirs []string) string {
	ctx, cancel := context.WithTimeout(ctx, LookupLimit)
	defer cancel()
	wanted = places(ctx, wanted)
	for _, dir := range dirs {
		for _, place := range places(ctx, Of(dir)) {
			if slices.Contains(wanted, place) {
				return dir
			}
		}
	}
	return ""
}

// First returns the sessions with one of them in front, if it is among them.
func First(dirs []string, first string) []string {
	i := slices.Index(dirs, first)
	if i < 0 {
		return dirs
	}
	return slices.Concat(dirs[i:i+1], dirs[:i], dirs[i+1:])
}

// Of returns the addresses of the heads that a session belongs to; none for one without the file.
func Of(dir string) []string {
	f, err := os.Open(filepath.Join(dir, Name))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxBytes))
	return strings.Fields(string(text))
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

package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Listen listens at HOST:PORT. With anyPort it takes a free port when that one is taken. The error of a port that is taken
// says by which process, if that is to be seen, and which flag chooses another one.
func Listen(at string, anyPort bool, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", at)
	if err == nil {
		return l, nil
	}
	host, port, splitErr := net.SplitHostPort(at)
	if splitErr != nil || !errors.Is(err, unix.EADDRINUSE) {
		return nil, NewBadConfig(fmt.Errorf("listen at %s: %w", at, err))
	}
	if anyPort {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, NewBadConfig(fmt.Errorf("listen at a free port: %w", err))
		}
		return l, nil
	}
	n, _ := strconv.Atoi(port)
	return nil, NewBadConfig(fmt.Errorf("port %s is taken%s: choose another one with %s", port, portHolder("/proc", n), flag))
}

// portHolder says which process listens at a TCP port, as far as this process may see: " by pid 7 (name)", else "".
func portHolder(proc string, port int) string {
	inodes := make(map[string]bool)
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" { // listening
				continue
			}
			_, number, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(number, 16, 16); err == nil && int(n) == port {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	links, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !inodes[to] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		return fmt.Sprintf(" by pid %s (%s)", filepath.Base(dir), strings.TrimSpace(string(name)))
	}
	return " by a process of another user"
}

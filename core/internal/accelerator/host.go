package accelerator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core/internal/environ"
)

// defaultToolTimeout bounds one run of a vendor's tool.
const defaultToolTimeout = 5 * time.Second

// giveUpAfter is how long a tool may still take when its time is over.
const giveUpAfter = 2 * time.Second

// Bounds on what a tool may say: more is nonsense.
const (
	maxToolOutput = 1 << 20 // bytes
	maxDetected   = 1024    // devices of one family on a node
)

// vendorFolders hold tools that are often not on the PATH.
var vendorFolders = []string{"/opt/aws/neuron/bin", "/opt/rocm/bin", "/usr/lib/wsl/lib", "/usr/local/sbin", "/usr/local/Ascend/driver/tools"}

func (h *host) note(format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprintf(format, a...))
}

func (h *host) noted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.notes))
}

func (h *host) path(name string) string { return filepath.Join(h.root, "/", name) }

// read returns a file's text without surrounding blanks, "" if it has none.
func (h *host) read(name string) string {
	b, err := os.ReadFile(h.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (h *host) exists(name string) bool {
	_, err := os.Stat(h.path(name))
	return err == nil
}

// list returns the names in a folder, sorted.
func (h *host) list(dir string) []string {
	entries, err := os.ReadDir(h.path(dir))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// numbered returns the numbers behind a prefix in a folder's names, ascending:
// 0 and 1 for nvidia0, nvidia1 and nvidiactl.
func (h *host) numbered(dir, prefix string) []int {
	var numbers []int
	for _, name := range h.list(dir) {
		rest, ok := strings.CutPrefix(name, prefix)
		if n, err := strconv.ParseUint(rest, 10, 31); ok && err == nil && rest == strconv.Itoa(int(n)) {
			numbers = append(numbers, int(n))
		}
	}
	slices.Sort(numbers)
	return numbers
}

// run returns what a vendor's tool prints, "" when there is none or it fails.
// The tool does not see the visibility variables: it is to show everything.
func (h *host) run(tool string, args ...string) string {
	file := h.find(tool)
	if file == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the tool started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out capped
	cmd.Stdout = &out
	for _, kv := range environ.Public() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(h.hide, name) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	switch err := cmd.Run(); {
	case ctx.Err() != nil:
		h.note("%s did not answer within %s: it counts as absent", file, h.timeout)
	case out.full:
		h.note("%s printed more than %d bytes: it counts as absent", file, maxToolOutput)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, syscall.ECHILD): // who reaps all children may have taken its status
		h.note("%s failed (%v): it counts as absent", file, err)
	default:
		return string(out.text)
	}
	return ""
}

// capped is a buffer that refuses to grow beyond maxToolOutput.
type capped struct {
	text []byte
	full bool
}

var errTooMuch = errors.New("too much output")

func (c *capped) Write(p []byte) (int, error) {
	if len(c.text)+len(p) > maxToolOutput {
		c.full = true
		return 0, errTooMuch
	}
	c.text = append(c.text, p...)
	return len(p), nil
}

// contained reports whether the node is a container. There /proc and /sys show
// the machine's devices, and only device files tell which it may use.
func (h *host) contained() bool {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "container"} {
		if value, _ := h.env(name); value != "" {
			return true
		}
	}
	return h.exists("/.dockerenv") || h.exists("/run/.containerenv")
}

func (h *host) find(tool string) string {
	for _, dir := range h.folders {
		file := filepath.Join(dir, tool)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// indices returns the ids "0" to n-1.
func indices(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

// field returns what follows "name:" in a text of such lines.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// module is what makes folders.
const module = "eagleray._private.worker.making"

// maxAnswer caps the answer of the program, in bytes.
const maxAnswer = 1 << 20

// tailOfLog is how much of what the program has written is shown when it has ended without an answer.
const tailOfLog = 4 << 10

// grace is how long the program may take to end itself when its standard input closes.
const grace = 2 * time.Second

// order is what the program gets.
type order struct {
	Field   string            `json:"field"`
	What    json.RawMessage   `json:"what"`
	Folder  string            `json:"folder"` // to be made; it does not exist
	Package string            `json:"package"`
	Cwd     string            `json:"cwd"`
	Before  []json.RawMessage `json:"before"` // answers to the needs before this one, null for those that are no folders
	Needs   []wire.Need       `json:"needs"`  // these needs
}

// answer is what Go reads of the program's answer. The rest is for the zygote.
type answer struct {
	Error   string   `json:"error"`   // in words for the user; "": the folder is there
	Command []string `json:"command"` // the interpreter of workers, if this need says which one it is
	Bytes   int64    `json:"bytes"`
}

// run runs the program and returns its answer. The end of ctx ends the program.
func run(ctx context.Context, python string, env []string, log string, o *order) (raw json.RawMessage, a answer, err error) {
	request, err := json.Marshal(o)
	if err != nil {
		return nil, a, fmt.Errorf("order: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return nil, a, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, a, err
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, a, err
	}
	defer r.Close()
	cmd := exec.Command(python, "-m", module)
	cmd.Env, cmd.Dir = env, "/" // `python -m` would import what lies in the user's folder
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	w.Close()
	if err != nil {
		return nil, a, fmt.Errorf("start %s: %w", python, err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // the daemon's collector of children may have been first, so the status is not asked for
	}()
	go func() { _, _ = in.Write(append(request, '\n')) }()
	defer context.AfterFunc(ctx, func() {
		in.Close()
		select {
		case <-over:
		case <-time.After(grace):
			_ = cmd.Process.Kill()
		}
	})()
	raw, err = io.ReadAll(io.LimitReader(r, maxAnswer+1))
	in.Close()
	select {
	case <-over:
	case <-time.After(grace):
		_ = cmd.Process.Kill()
		<-over
	}
	switch {
	case ctx.Err() != nil:
		return nil, a, context.Cause(ctx)
	case err != nil:
		return nil, a, err
	case len(raw) > maxAnswer:
		return nil, a, fmt.Errorf("the answer of the program that makes it has more than %d bytes", maxAnswer)
	case len(raw) == 0:
		return nil, a, errors.New("the program that makes it has ended without an answer" + tail(log))
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, a, fmt.Errorf("the answer of the program that makes it: %w", err)
	}
	if a.Error != "" {
		return nil, a, errors.New(a.Error)
	}
	if a.Bytes < 0 || len(a.Command) > 0 && !filepath.IsAbs(a.Command[0]) {
		return nil, a, fmt.Errorf("the program that makes it answers %.200q", raw)
	}
	return raw, a, nil
}

// tail returns the end of a file, with words in front of it.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > tailOfLog {
		_, _ = f.Seek(-tailOfLog, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	b, _ := io.ReadAll(io.LimitReader(f, tailOfLog))
	if text := strings.TrimSpace(string(b)); text != "" {
		return "; it last wrote:\n" + text
	}
	return ""
}

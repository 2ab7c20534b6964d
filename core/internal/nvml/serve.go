package nvml

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/eagleray/eagleray/core/internal/gpus"
)

// Serve opens the library and answers what a gpus.Watcher asks until its input
// ends.
func Serve(library string, in io.Reader, out io.Writer) error {
	lines, asked := json.NewEncoder(out), json.NewDecoder(in)
	l, err := Open(library)
	if err != nil {
		return errors.Join(err, lines.Encode(gpus.Answer{Error: err.Error()}))
	}
	if err := lines.Encode(gpus.Answer{Devices: l.Devices()}); err != nil {
		return err
	}
	for {
		var q gpus.Request
		switch err := asked.Decode(&q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var a gpus.Answer
		if q.UUID != "" {
			a.Bytes = l.Bytes(q.UUID)
		} else if a.Uses, err = l.Uses(); err != nil {
			a.Error = err.Error()
		}
		if err := lines.Encode(a); err != nil {
			return err
		}
	}
}

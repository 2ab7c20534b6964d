package jobguard

import (
	"fmt"
	"os"
)

// output is the log of a job. What cannot be written is counted.
type output struct {
	file  *os.File
	lost  int64 // in all
	since int64 // since something could be written the last time
	why   error
}

func openOutput(path string) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the log of the job: %w", err)
	}
	return &output{file: f}, nil
}

// Write never fails, so that whoever copies goes on.
func (o *output) Write(b []byte) (int, error) {
	if o.since > 0 {
		if _, err := fmt.Fprintf(o.file, "\n[%d bytes of output are missing here: %v]\n", o.since, o.why); err == nil {
			o.since = 0
		}
	}
	n := 0
	if o.since == 0 {
		n, o.why = o.file.Write(b)
	}
	o.lost += int64(len(b) - n)
	o.since += int64(len(b) - n)
	return len(b), nil
}

// close returns how many bytes were lost.
func (o *output) close() int64 {
	if o.since > 0 {
		_, _ = o.Write(nil)
	}
	if err := o.file.Close(); err != nil && o.lost == 0 {
		o.lost = 1 // the file system says only now that it could not write
	}
	return o.lost
}

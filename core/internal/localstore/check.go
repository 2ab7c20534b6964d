package localstore

import "github.com/eagleray/eagleray/core/internal/refs"

// AskCheck asks which of some objects the store lacks.
func (s *Store) AskCheck(list []*refs.Object) *Check {
	c := &Check{list: list, done: make(chan struct{})}
	s.daemon.Check(c)
	return c
}

// IDs returns the objects that are asked for, as a message has them.
func (c *Check) IDs() [][]byte { return idsOf(c.list) }

// Answered takes the daemon's answer to Daemon.Check.
func (c *Check) Answered(lacks [][]byte, err error) {
	c.lacks, c.err = lacks, err
	close(c.done)
}

// Done is closed when the answer is there.
func (c *Check) Done() <-chan struct{} { return c.done }

// Lacks returns the ids that the daemon lacks. It needs an answer.
func (c *Check) Lacks() ([][]byte, error) { return c.lacks, c.err }

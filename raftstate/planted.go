package raftstate

import "bytes"

// The bugs of core/internal/planted that are planted here, and what some of them do. They exist only in builds with the
// tag planted: in others strikes is a constant, and the compiler removes the code that it guards. This package, which other programs
// may import, cannot import that one: in such builds core/internal/raftlog sets Plant.
const (
	staleRead   = "stale_read"
	earlyAck    = "early_ack"
	lostDedup   = "lost_dedup"
	noFence     = "no_fence"
	doubleApply = "double_apply"
)

// another returns the command under another name, so that a retry is another command.
func (n *Node) another(data []byte) []byte {
	c, err := decode(data)
	if err != nil {
		return data
	}
	c.Request, c.Answered = n.NewRequest(), 0
	renamed, err := encode(c)
	if err != nil {
		return data
	}
	return renamed
}

// early proposes a command, and answers at once what it will probably give.
func (n *Node) early(data []byte) (Result, attempt, error) {
	go func() {
		defer n.inside.Done()
		_ = n.raft.Apply(data, 0).Error()
	}()
	c, err := decode(data)
	if err != nil {
		return Result{}, final, err
	}
	var state bytes.Buffer
	n.fsm.view(func(m *Machine) { err = m.WriteSnapshot(&state) })
	if err != nil {
		return Result{}, final, err
	}
	m, err := ReadSnapshot(&state)
	if err != nil {
		return Result{}, final, err
	}
	c.Answered = 0
	r, _ := m.Apply(m.index, c)
	return r, final, nil
}

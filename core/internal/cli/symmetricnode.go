package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// How often the machines of a symmetric-run look for each other.
const (
	symmetricLook = 200 * time.Millisecond
	symmetricDial = time.Second
)

// endNamespace has, in the cluster's key-values, the id of the head's node when the program has ended: then the other nodes end.
const endNamespace = "eagleray.symmetric-run"

// errSignal means that a signal has ended the command.
var errSignal = errors.New(symmetricName + ": a signal has ended it")

// member is the node that a symmetric-run has on this machine.
type member struct {
	cmd   *exec.Cmd
	ended <-chan error // the node has ended by itself
	c     *cluster
}

// begin starts the node of this machine.
func (s *symmetric) begin(more map[string]string) (*member, error) {
	flags := maps.Clone(s.flags)
	maps.Copy(flags, more)
	cmd, dir, err := begin(flags, io.Discard, s.errs)
	if err != nil {
		return nil, err
	}
	m := &member{cmd: cmd, ended: whenEnded(cmd)}
	if m.c, err = dialCluster(dir); err != nil {
		m.end()
		return nil, err
	}
	return m, nil
}

// end ends the node.
func (m *member) end() {
	if m.c != nil {
		m.c.close()
	}
	endNode(m.cmd, m.ended)
}

// nodes returns the nodes of the cluster that are alive.
func (m *member) nodes() (alive []wire.NodeInfo, err error) {
	var info wire.ClusterInfo
	if err := m.c.call(wire.TClusterInfo, &info); err != nil {
		return nil, err
	}
	for _, n := range info.Nodes {
		if n.Alive {
			alive = append(alive, n)
		}
	}
	return alive, nil
}

// pause waits before the next look. It returns an error when a signal comes or the node ends.
func (s *symmetric) pause(m *member) error {
	var ended <-chan error
	if m != nil {
		ended = m.ended
	}
	select {
	case <-s.signals:
		return errSignal
	case err := <-ended:
		return fmt.Errorf("%s: the node of this machine has ended by itself: its logs are in its session (%w)", symmetricName, err)
	case <-time.After(symmetricLook):
		return nil
	}
}

// lead is the machine with the head: it waits for the others, runs the program, and tells them that it has ended.
func (s *symmetric) lead(ip, port string) error {
	m, err := s.begin(map[string]string{"--head": "true", "--node-ip-address": ip, "--port": port})
	if err != nil {
		return err
	}
	defer m.end()
	defer s.dismiss(m)
	s.say("the head runs on this machine, %s", s.address)
	if err := s.awaitNodes(m); err != nil {
		return err
	}
	return s.runProgram()
}

// awaitNodes waits until as many nodes are there as the program needs.
func (s *symmetric) awaitNodes(m *member) error {
	said, end := 0, time.Now().Add(s.limit)
	for {
		alive, err := m.nodes()
		if err != nil {
			return err
		}
		if len(alive) >= s.minNodes {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: %d of %d nodes are there after %v: look at what the command says on the other machines; %s sets how many seconds to wait",
				symmetricName, len(alive), s.minNodes, s.limit, symmetricWaitVar)
		}
		if len(alive) != said {
			said = len(alive)
			s.say("%d of %d nodes are there", said, s.minNodes)
		}
		if err := s.pause(m); err != nil {
			return err
		}
	}
}

// dismiss tells the other nodes to end, and waits until they have.
func (s *symmetric) dismiss(m *member) {
	alive, err := m.nodes()
	if err != nil || len(alive) < 2 {
		return
	}
	id := ""
	for _, n := range alive {
		if n.IsHead {
			id = hex.EncodeToString(n.NodeID)
		}
	}
	if err := m.c.ask(wire.TKVPut, wire.KVPut{Namespace: endNamespace, Key: []byte(id), Value: []byte{1}, Overwrite: true}, nil); err != nil {
		s.say("the other nodes do not know that the program has ended: %v", err)
		return
	}
	for end := time.Now().Add(stopGrace); len(alive) > 1; {
		if time.Now().After(end) {
			s.say("%s of this cluster still run: end them with eagleray stop", count(len(alive)-1, "other node"))
			break
		}
		if err := s.pause(m); err != nil {
			s.say("%s of this cluster may still run: %v", count(len(alive)-1, "other node"), err)
			return
		}
		if alive, err = m.nodes(); err != nil {
			return
		}
	}
	_ = m.c.ask(wire.TKVDel, wire.KVKey{Namespace: endNamespace, Key: []byte(id)}, nil) // a state that is kept need not have it
}

// follow is a machine without the head: it joins, and stays until the program has ended.
func (s *symmetric) follow() error {
	if err := s.awaitHead(); err != nil {
		return err
	}
	delete(s.flags, stateFlag) // is for the head
	m, err := s.begin(map[string]string{"--address": s.address})
	if err != nil {
		return err
	}
	defer m.end()
	s.say("this machine has joined the cluster of %s", s.address)
	var key []byte
	heard := time.Now()
	for {
		ended, err := programEnded(m, &key)
		if ended {
			s.say("the program has ended")
			return nil
		}
		if err == nil {
			heard = time.Now()
		} else if time.Since(heard) > s.limit {
			return fmt.Errorf("%s: the head at %s has not answered for %v, so this node ends: %w", symmetricName, s.address, s.limit, err)
		}
		if err := s.pause(m); err != nil {
			return err
		}
	}
}

// programEnded asks whether the program has ended. The key is that of the head's node, once it is known.
func programEnded(m *member, key *[]byte) (bool, error) {
	if *key == nil {
		alive, err := m.nodes()
		if err != nil {
			return false, err
		}
		for _, n := range alive {
			if n.IsHead {
				*key = []byte(hex.EncodeToString(n.NodeID))
			}
		}
		if *key == nil {
			return false, errors.New("the node of the head is not in the list of nodes")
		}
	}
	var value []byte
	err := m.c.ask(wire.TKVGet, wire.KVKey{Namespace: endNamespace, Key: *key}, &value)
	return len(value) > 0, err
}

// awaitHead waits until something listens at the head's address.
func (s *symmetric) awaitHead() error {
	s.say("this machine is not %s, so it joins the cluster there", s.address)
	for end := time.Now().Add(s.limit); ; {
		c, err := net.DialTimeout("tcp", s.address, symmetricDial)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: no head answers at %s after %v: %w; the same command has to run on that machine, with the same --address, and with more than one node a loopback address is no machine's own",
				symmetricName, s.address, s.limit, err)
		}
		if err := s.pause(nil); err != nil {
			return err
		}
	}
}

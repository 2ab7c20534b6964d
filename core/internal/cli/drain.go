package cli

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// The flags of drain-node are Ray's.
var drainOptions = []option{
	{name: "--address", value: "HOST:PORT", about: "the head of the cluster (default: $EAGLERAY_ADDRESS, $RAY_ADDRESS, else the one that runs here)"},
	{name: "--node-id", value: "ID", about: "the node's id in hex, as `eagleray list nodes` shows it (default: the node of this machine)"},
	{name: "--reason", value: "REASON", about: "DRAIN_NODE_REASON_IDLE_TERMINATION, which is refused while the node works, or DRAIN_NODE_REASON_PREEMPTION",
		check: oneOf(string(record.DrainIdle), string(record.DrainPreemption))},
	{name: "--reason-message", value: "TEXT", about: "why, for people: errors about what ran on the node quote it"},
	{name: "--deadline-remaining-seconds", value: "SECONDS", about: "after how long the node ends although it works (default: it ends when it is idle)", check: wholeSeconds},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
}

// runDrain has a node get no new work and leave the cluster.
func runDrain(args []string, out, _ io.Writer) error {
	if askedHelp("drain-node", drainOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("drain-node", drainOptions, args)
	if err != nil {
		return err
	}
	for _, name := range []string{"--reason", "--reason-message"} {
		if _, given := flags[name]; !given {
			return usage("drain-node: %s is missing; see eagleray drain-node --help", name)
		}
	}
	q := wire.DrainNode{Reason: flags["--reason"], Message: flags["--reason-message"]}
	if len(q.Message) > record.MaxDrainMessage {
		return usage("drain-node: --reason-message has %d bytes, at most %d are allowed", len(q.Message), record.MaxDrainMessage)
	}
	if text, given := flags["--deadline-remaining-seconds"]; given {
		seconds, _ := strconv.ParseInt(text, 10, 64) // it was checked
		q.LeftMs = max(1, seconds*int64(time.Second/time.Millisecond))
	}
	if id := flags["--node-id"]; id != "" {
		if q.NodeID, err = hex.DecodeString(id); err != nil || len(q.NodeID) != len(ids.Node{}) {
			return usage("drain-node: --node-id: %q is not the id of a node, which has %d hexadecimal digits", id, 2*len(ids.Node{}))
		}
	}
	dir, err := sessionShown("drain-node", flags)
	if err != nil {
		return err
	}
	c, err := dialCluster(dir)
	if err != nil {
		return fmt.Errorf("%w (%w)", errNoCluster, err)
	}
	defer c.close()
	if q.NodeID == nil {
		var info wire.ClusterInfo
		if err := c.ask(wire.TClusterInfo, wire.ClusterAsk{}, &info); err != nil {
			return err
		}
		q.NodeID = info.NodeID
	}
	var done wire.Drained
	if err := c.ask(wire.TDrainNode, q, &done); err != nil {
		return fmt.Errorf("drain-node: %w", err)
	}
	if done.Refused != "" {
		return fmt.Errorf("the drain request is not accepted: %s", done.Refused)
	}
	return nil
}

// mostSeconds is the longest time that a deadline may be away: ten years.
const mostSeconds = 10 * 365 * 24 * 60 * 60

func wholeSeconds(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > mostSeconds {
		return fmt.Errorf("%q is not a whole number of seconds from 0 to %d", text, mostSeconds)
	}
	return nil
}

// draining says in words that a node leaves the cluster, "" for one that does not.
func draining(n *wire.NodeInfo, now time.Time) string {
	if n.DrainReason == "" || !n.Alive {
		return ""
	}
	d := record.Drain{Reason: record.DrainReason(n.DrainReason), Message: n.DrainMessage}
	text := ", no new work is placed there: " + d.String()
	if n.DrainDeadlineMs > 0 {
		left := max(0, time.UnixMilli(n.DrainDeadlineMs).Sub(now))
		text += fmt.Sprintf("; it ends in %d s at the latest", int(math.Ceil(left.Seconds())))
	}
	return text
}

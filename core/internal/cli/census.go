package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/internal/wire"
)

var censusOptions = []option{
	{name: "--session-dir", value: "DIR", about: "the session"},
	{name: "--limit", value: "N", about: "rows of a kind from each process"},
	{name: "--timeout-ms", value: "MS", about: "for the answer"},
	{name: "--objects", about: "ask each process for its references"},
	{name: "--tasks", about: "ask each process for its tasks"},
	{name: "--head", about: "show only what the head knows: actors, jobs, nodes and placement groups"},
}

// runCensus writes who holds what as a msgpack map: the Python commands memory,
// list, get and summary read it.
func runCensus(args []string, out, _ io.Writer) error {
	flags, err := parseFlags("census", censusOptions, args)
	if err != nil {
		return err
	}
	limit, err1 := strconv.Atoi(flags["--limit"])
	ms, err2 := strconv.Atoi(flags["--timeout-ms"])
	if err1 != nil || err2 != nil || limit < 1 || ms < 1 {
		return usage("census: --limit and --timeout-ms need numbers above 0")
	}
	c, err := dialCluster(flags["--session-dir"])
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
	defer cancel()
	q := wire.CensusAsk{Limit: limit, TimeoutMs: int64(ms) * 8 / 10, Objects: flags["--objects"] != "", Tasks: flags["--tasks"] != "", Head: flags["--head"] != ""}
	var found wire.Census
	if err := c.peer.Call(ctx, wire.TCensus, q, &found); err != nil {
		return fmt.Errorf("the daemon of session %s does not answer: %w", c.dir, err)
	}
	return msgpack.NewEncoder(out).Encode(&found)
}

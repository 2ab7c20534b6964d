// Package sim tests pure machines under seeded faults. A test writes a World around its machines: a step of the
// world is one random event, and the world compares what the machines do with a simple model. Run
// plays a world with many seeds. A seed replays exactly, so a failure is repeated with `make sim SEED=n`, and
// the last events before it are printed.
//
// A world may have switches that plant a bug. Find shows that the world notices such a bug, and with how many seeds.
//
// The package has what worlds share: Die (the random decisions of a seed), Log (the last events), Net
// (ordered channels that are delayed, blocked and cut), and Clock (clocks that drift). It knows no machine. Nothing here
// has a goroutine, and nothing depends on the order of a map.
package sim

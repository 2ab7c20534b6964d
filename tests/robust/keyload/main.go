// Keyload loads the key-value store of a cluster, and judges what it was told.
//
// `keyload load` runs on a machine with a node. Its clients put, compare and swap, delete and get keys at a given rate, until the standard input
// closes. Every call goes into a file, with the time at which it began and ended (history.go).
//
// `keyload judge` reads the files of all machines, and looks with Porcupine for one order of all calls of a key that explains every
// answer (model.go). An acknowledged write that is lost has no such order. It also says how long no write was acknowledged after each blow (gaps.go).
//
// Times are those of CLOCK_MONOTONIC, which all processes of a machine share. So all loaders have to run on one machine; network namespaces change nothing.
//
// # Goroutines and locks
//
// Each client is a goroutine. They share the file, which has a lock. The judge has none.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `usage: keyload load --out FILE [--name NAME] [--rate N] [--clients N] [--sessions N] [--seed N]
       keyload judge [--blows FILE] HISTORY…`

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "keyload:", err)
		os.Exit(1)
	}
}

func run(words []string, in io.Reader, out io.Writer) error {
	if len(words) == 0 {
		return fmt.Errorf("no command was given\n%s", usage)
	}
	flags := flag.NewFlagSet(words[0], flag.ContinueOnError)
	switch words[0] {
	case "load":
		var l loader
		path := flags.String("out", "", "the file of the history")
		flags.StringVar(&l.name, "name", "load", "tells this program's clients and values from those of others")
		flags.Float64Var(&l.rate, "rate", 170, "calls a second")
		flags.IntVar(&l.clients, "clients", 16, "calls at a time")
		flags.IntVar(&l.sessions, "sessions", 2, "sessions with the node")
		flags.Uint64Var(&l.seed, "seed", 1, "of the choice of the calls")
		if err := flags.Parse(words[1:]); err != nil {
			return err
		}
		if *path == "" || l.rate <= 0 || l.clients < 1 || l.sessions < 1 {
			return fmt.Errorf("load: --out is needed, and --rate, --clients and --sessions have to be more than 0\n%s", usage)
		}
		return l.run(context.Background(), *path, in, out)
	case "judge":
		path := flags.String("blows", "", "a file with the times of the blows")
		if err := flags.Parse(words[1:]); err != nil {
			return err
		}
		return judgeFiles(*path, flags.Args(), out)
	}
	return fmt.Errorf("%q is not known\n%s", words[0], usage)
}

// judgeFiles judges histories, and writes the verdict as JSON.
func judgeFiles(blows string, paths []string, out io.Writer) error {
	if len(paths) == 0 {
		return fmt.Errorf("judge: no history was given\n%s", usage)
	}
	var all []call
	for _, p := range paths {
		list, err := readHistory(p)
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	v := judge(all)
	if blows != "" {
		b, err := os.ReadFile(blows)
		if err != nil {
			return err
		}
		var list []blow
		if err := json.Unmarshal(b, &list); err != nil {
			return fmt.Errorf("the blows in %s: %w", blows, err)
		}
		v.Gaps = gaps(all, list)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	if len(v.Wrong) > 0 {
		return fmt.Errorf("%d things are wrong: %s", len(v.Wrong), strings.Join(v.Wrong[:min(len(v.Wrong), 3)], "\n"))
	}
	return nil
}

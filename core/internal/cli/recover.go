package cli

import (
	"fmt"
	"io"

	"github.com/eagleray/eagleray/core/internal/headprocess"
)

var recoverOptions = append([]option{
	{name: stateFlag, value: "DIR", about: "the folder of the state of the head that is to go on", check: someFolder},
	{name: "--yes", about: "do it; without this, the command only says what it would give up"},
}, logOptions...)

// runRecover makes one head the only one, offline.
func runRecover(args []string, out io.Writer) error {
	if askedHelp("heads recover", recoverOptions, args, out) {
		fmt.Fprint(out, `
This is for a cluster that has lost most of its heads for good. With half of the heads or more, start them again instead: nothing is lost then.

  1. Stop all heads that are left (eagleray stop), so that none of them goes on by itself.
  2. Run this command without --yes on the folder of each of them, and choose the one whose log is longest.
  3. Run it there with --yes. It makes this head the only one, with all that is in its folder.
  4. Start it: eagleray start --head --state-dir=DIR. Nodes that still run go on. Then start further heads with empty folders.

What only the lost heads had is given up: changes that they had confirmed in the last moment may be missing. Heads of before are refused from then on.
`)
		return nil
	}
	flags, err := parseFlags("heads recover", recoverOptions, args)
	if err != nil {
		return err
	}
	state, err := stateDirOf(flags)
	if err != nil {
		return usage("heads recover: %v", err)
	}
	if state.Path == "" {
		return usage("heads recover: give the folder of the head's state with %s=DIR", stateFlag)
	}
	return headprocess.Recover(state.Path, flags["--yes"] != "", out)
}

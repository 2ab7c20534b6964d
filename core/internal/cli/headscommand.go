package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
)

// memberFile is the file in the folder of a session that says how its node has joined the cluster. The token itself is not in it.
const memberFile = "member.json"

// memberNote is what the file says.
type memberNote struct {
	Token    process.TokenSource `json:"token"`
	Insecure bool                `json:"insecure,omitempty"`
}

func writeMember(dir string, m memberNote) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, memberFile), b, 0o600)
}

// readMember returns what the file says; false if there is none, as in a session that `start` did not begin.
func readMember(dir string) (m memberNote, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, memberFile))
	return m, err == nil && json.Unmarshal(b, &m) == nil
}

var headsOptions = append([]option{
	{name: "--address", value: "HOST:PORT,…", about: "heads of the cluster (default: $EAGLERAY_ADDRESS, $RAY_ADDRESS, else those of the node that runs here)"},
	{name: "--token-file", value: "FILE", about: "the cluster's secret (default: the one that the node here was started with, $EAGLERAY_TOKEN_FILE, $RAY_AUTH_TOKEN)"},
	{name: "--insecure", about: "the cluster was started with --insecure"},
	{name: "--json", about: "with list: print JSON"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
}, logOptions...)

const headsUsage = `usage: eagleray heads COMMAND [flags]

  list                      show the heads of the cluster, and which one leads
  add HEAD                  give a standby head a vote now, without waiting until it is needed
  remove HEAD               remove a head for good; it may have died
  transfer-leadership [HEAD]  let another head lead
  recover                   go on with one head when most of them are lost for good; see eagleray heads recover --help

HEAD is a number that list shows. A further head is started with: eagleray start --head --address=HOST:PORT`

// runHeads shows the heads of a cluster, and changes who they are.
func runHeads(args []string, version string, out io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprintln(out, headsUsage)
		return nil
	}
	what, rest := args[0], args[1:]
	if what == "recover" {
		return runRecover(rest, out)
	}
	names := []string{"list", "add", "remove", "transfer-leadership", "recover"}
	known := false
	for _, n := range names {
		known = known || n == what
	}
	if !known {
		return usage("heads: unknown command %q%s; see eagleray heads --help", what, meant(what, names))
	}
	if askedHelp("heads "+what, headsOptions, rest, out) {
		return nil
	}
	var number *uint32
	if what != "list" && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		n, err := strconv.ParseUint(rest[0], 10, 32)
		if err != nil {
			return usage("heads %s: %q is not the number of a head: eagleray heads list shows the numbers", what, rest[0])
		}
		short := uint32(n)
		number, rest = &short, rest[1:]
	}
	if number == nil && (what == "add" || what == "remove") {
		return usage("heads %s: give the number of the head: eagleray heads list shows the numbers", what)
	}
	flags, err := parseFlags("heads "+what, headsOptions, rest)
	if err != nil {
		return err
	}
	c, _, err := headsClient("heads "+what, version, flags)
	if err != nil {
		return err
	}
	if what == "list" {
		return listHeads(c, flags["--json"] != "", out)
	}
	return changeHeads(c, what, number, out)
}

// headsClient returns how the command with that name asks the heads of a cluster, and where the token is.
func headsClient(name, version string, flags map[string]string) (*join.Client, process.TokenSource, error) {
	var none process.TokenSource
	base, err := ownBase(flags)
	if err != nil {
		return nil, none, fmt.Errorf("%s: %w", name, err)
	}
	c := &join.Client{Insecure: flags["--insecure"] != "", Release: version}
	address := flags["--address"]
	for _, variable := range []string{"EAGLERAY_ADDRESS", "RAY_ADDRESS"} {
		if address == "" && heads.Is(os.Getenv(variable)) {
			address = os.Getenv(variable)
		}
	}
	dir := ""
	if address != "" {
		if c.Heads, err = headAddresses(address); err != nil {
			return nil, none, usage("%s: --address: %v", name, err)
		}
		dir, _ = sessionOf(base, address)
	} else {
		if dir, err = currentSession(base); err != nil {
			return nil, none, fmt.Errorf("%s: %w; or give --address=HOST:PORT of a head", name, err)
		}
		if c.Heads = heads.Of(dir); len(c.Heads) == 0 {
			return nil, none, fmt.Errorf("%s: the session %s says nothing of heads: give --address=HOST:PORT", name, dir)
		}
	}
	source, given, err := tokenOf(flags)
	if err != nil {
		return nil, none, usage("%s: %v", name, err)
	}
	if note, ok := readMember(dir); dir != "" && ok {
		c.Insecure = c.Insecure || note.Insecure
		if !given {
			source, given = note.Token, true
		}
	}
	if !given {
		if source, err = joinToken(flags, base); err != nil {
			return nil, none, usage("%s: %v", name, err)
		}
	}
	if c.Token, err = source.Read(); err != nil {
		return nil, none, usage("%s: the cluster's token: %v; --token-file names another file", name, err)
	}
	return c, source, nil
}

// explainHeads adds which token was used, if that may be what is wrong.
func explainHeads(c *join.Client, err error) error {
	if errors.Is(err, pki.ErrWrongToken) {
		return fmt.Errorf("heads: with the %v: %w", c.Token, err)
	}
	return fmt.Errorf("heads: %w", err)
}

func listHeads(c *join.Client, asJSON bool, out io.Writer) error {
	list, level, err := c.Status(context.Background())
	if err != nil {
		return explainHeads(c, err)
	}
	if asJSON {
		type row struct {
			Number    uint32   `json:"number"`
			Addresses []string `json:"addresses"`
			Role      string   `json:"role"`
			Healthy   bool     `json:"healthy"`
			Why       string   `json:"why,omitempty"`
			Stored    uint64   `json:"stored"`
			Level     int      `json:"level"`      // of the changes that it knows
			Used      int      `json:"used_level"` // of those that are in use: the lowest of all heads
		}
		rows := []row{}
		for _, h := range list {
			rows = append(rows, row{h.Number, h.Addresses, headRole(&h), h.Healthy, h.Why, h.Stored, h.Level, level})
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HEAD\tADDRESS\tROLE\tSTATE\tLOG")
	for _, h := range list {
		state := "healthy"
		if !h.Healthy {
			state = h.Why
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\n", h.Number, strings.Join(h.Addresses, ","), headRole(&h), state, h.Stored)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, toleranceText(list))
	if text := levelText(list); text != "" {
		fmt.Fprintln(out, text)
	}
	return nil
}

func headRole(h *linkmsg.HeadStatus) string {
	switch {
	case h.Leads:
		return "leader"
	case h.Voter:
		return "voter"
	}
	return "standby"
}

// toleranceText says how many heads may be lost now.
func toleranceText(list []linkmsg.HeadStatus) string {
	votes, healthy := 0, 0
	for _, h := range list {
		if h.Voter {
			votes++
			if h.Healthy {
				healthy++
			}
		}
	}
	switch lose := healthy - (votes/2 + 1); {
	case votes == 1 && len(list) == 1:
		return "The cluster has one head: while it is down, nothing new starts. Start two more with: eagleray start --head --address=HOST:PORT"
	case votes == 1:
		return "One head has a vote, because two of two would both be needed. With a third one, any of them may be lost."
	case lose > 0:
		return fmt.Sprintf("%d of %d voters are healthy: the cluster goes on if %d more are lost.", healthy, votes, lose)
	default:
		return fmt.Sprintf("%d of %d voters are healthy: the cluster does not go on if one more is lost.", healthy, votes)
	}
}

// levelText says which heads are of an older release than others, "" if none is.
func levelText(list []linkmsg.HeadStatus) string {
	lowest, highest := 0, 0
	for _, h := range list {
		if lowest == 0 || h.Level < lowest {
			lowest = h.Level
		}
		highest = max(highest, h.Level)
	}
	if lowest == highest {
		return ""
	}
	var older []string
	for _, h := range list {
		if h.Level < highest {
			older = append(older, fmt.Sprint(h.Number))
		}
	}
	return fmt.Sprintf("An upgrade is under way: these heads are of an older release: %s. What is new in the newer release works when all heads have it. Until then each head can go back to the older release.", strings.Join(older, ", "))
}

func changeHeads(c *join.Client, what string, number *uint32, out io.Writer) error {
	change := map[string]linkmsg.HeadChange{"add": linkmsg.HeadVote, "remove": linkmsg.HeadRemove, "transfer-leadership": linkmsg.HeadTransfer}[what]
	if err := c.Change(context.Background(), change, number); err != nil {
		return explainHeads(c, err)
	}
	switch what {
	case "add":
		fmt.Fprintf(out, "Head %d gets a vote as soon as it has the whole state; eagleray heads list shows it. If the number of votes is even then, a head whose vote nobody has asked for becomes a standby.\n", *number)
	case "remove":
		fmt.Fprintf(out, "Head %d is being removed; eagleray heads list shows when it is gone. If its process still runs, it ends when the other heads do without it.\n", *number)
	default:
		if number != nil {
			fmt.Fprintf(out, "Head %d leads now.\n", *number)
		} else {
			fmt.Fprintln(out, "Another head leads now; eagleray heads list shows which one.")
		}
	}
	return nil
}

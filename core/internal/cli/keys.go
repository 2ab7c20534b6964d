package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// The flags of the commands that look after a cluster's keys.
var (
	keyOptions = []option{
		{name: "--address", value: "HOST:PORT,…", about: "heads of the cluster (default: those of the node that runs here)"},
		{name: "--token-file", value: "FILE", about: "the cluster's secret (default: as for start)"},
		{name: "--insecure", about: "the cluster goes without TLS"},
		{name: "--temp-dir", value: "DIR", about: "where sessions live (default: $EAGLERAY_TMPDIR, $RAY_TMPDIR, /tmp)"},
	}
	rotateOptions   = append([]option{{name: "--new-token-file", value: "FILE", about: "where the new token is written (default: beside the present one, with .new behind its name)"}}, keyOptions...)
	withdrawOptions = append([]option{{name: "--force", about: "also while nodes have the new token, which cannot join again after their next start"}}, keyOptions...)
	finishOptions   = append([]option{{name: "--force", about: "also while nodes have the old token, which cannot join again after their next start"}}, keyOptions...)
)

const tokenHelp = `usage: eagleray token COMMAND [flags]

  status     show which token each machine has
  rotate     make a new token; both count until ` + "`eagleray token finish`" + `
  finish     end the old token
  withdraw   end the new token, and keep the old one: the new one is lost, for example
`

// runToken is `eagleray token`.
func runToken(args []string, version string, out io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(out, tokenHelp)
		return nil
	}
	name := "token " + args[0]
	switch args[0] {
	case "status":
		return look(name, version, args[1:], out, tellTokens)
	case "rotate":
		return rotateToken(name, version, args[1:], out)
	case "finish":
		return finishToken(name, version, args[1:], out)
	case "withdraw":
		return withdrawToken(name, version, args[1:], out)
	}
	return usage("token: there is no command %q: status, rotate, finish and withdraw are there", args[0])
}

const authorityHelp = `usage: eagleray authority COMMAND [flags]

  status   show which authority signs certificates, and which nodes have it
  rotate   put a new authority in the place of the present one, while the cluster runs
`

// runAuthority is `eagleray authority`.
func runAuthority(args []string, version string, out io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(out, authorityHelp)
		return nil
	}
	name := "authority " + args[0]
	switch args[0] {
	case "status":
		return look(name, version, args[1:], out, tellAuthorities)
	case "rotate":
		return rotateAuthority(name, version, args[1:], out)
	}
	return usage("authority: there is no command %q: status and rotate are there", args[0])
}

// keys asks the heads of a cluster.
type keys struct {
	client *join.Client
	token  pki.Token
	source string // the token's file; empty: it is in a variable
}

// openKeys reads the flags of a command. It returns nil when help was asked for.
func openKeys(name, version string, options []option, args []string, out io.Writer) (*keys, map[string]string, error) {
	if askedHelp(name, options, args, out) {
		return nil, nil, nil
	}
	flags, err := parseFlags(name, options, args)
	if err != nil {
		return nil, nil, err
	}
	client, source, err := headsClient(name, version, flags)
	if err != nil {
		return nil, nil, err
	}
	return &keys{client: client, token: client.Token, source: source.File}, flags, nil
}

// keysLimit is how long a head may take.
const keysLimit = 15 * time.Second

// ask has a head do something, and returns how things are then.
func (k *keys) ask(q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keysLimit)
	defer cancel()
	return k.client.Admin(ctx, q)
}

// look shows how things are.
func look(name, version string, args []string, out io.Writer, tell func(io.Writer, *linkmsg.AdminAnswer)) error {
	k, _, err := openKeys(name, version, keyOptions, args, out)
	if k == nil {
		return err
	}
	a, err := k.ask(linkmsg.Admin{Op: linkmsg.AdminStatus})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	tell(out, &a)
	return nil
}

// rotateToken makes a new token, which counts beside the old one from then on. Its file is written first: a token that nobody has would be lost.
func rotateToken(name, version string, args []string, out io.Writer) error {
	k, flags, err := openKeys(name, version, rotateOptions, args, out)
	if k == nil {
		return err
	}
	path := flags["--new-token-file"]
	if path == "" && k.source == "" {
		return usage("%s: the token is in a variable: --new-token-file=FILE says where the new one is to be written", name)
	}
	if path == "" {
		path = k.source + ".new"
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if _, err := k.ask(linkmsg.Admin{Op: linkmsg.AdminStatus}); err != nil { // no file is made for nothing
		return fmt.Errorf("%s: %w", name, err)
	}
	token := pki.NewToken(path)
	if err := pki.WriteToken(path, token); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %s is there already, and is not written over. `eagleray token status` tells whether the cluster has two tokens: then finish or withdraw that replacement first. If it has one, move the file away, and put what is in it in the place of the token's file where that was not done", name, path)
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a, err := k.addToken(token, path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(out, `The cluster has two tokens now. Both count, and everything runs on.

  old   %s
  new   %s

What is left to do:
  1. Put the new token in the place of the old one on each machine, with mode 0600, the head's machine first.
     Where the token is in a variable, set it for the next start.
  2. eagleray token status --token-file=%s
     says which machines still have the old one.
  3. eagleray token finish --token-file=%s
     ends the old one.
`, a.Tokens[0], path, path, path)
	return nil
}

// addToken gives the head the new token, which is in the file. After an error the file is removed only if the head that leads says that the token is none of the
// cluster's: an answer may have been lost, and then the file is all that there is of the token.
func (k *keys) addToken(token pki.Token, path string) (linkmsg.AdminAnswer, error) {
	a, err := k.ask(linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: token.Text(), From: path})
	if err == nil {
		return a, nil
	}
	found, e := k.ask(linkmsg.Admin{Op: linkmsg.AdminFindToken, Tag: token.Tag(linkmsg.FindText)})
	if e == nil && found.Found > 1 {
		return found, nil
	}
	var refused *pki.RefusedError
	if e == nil && found.Found == 0 && errors.As(err, &refused) {
		if e := os.Remove(path); e != nil {
			return a, fmt.Errorf("%w (and %w)", err, e)
		}
		return a, err
	}
	return a, fmt.Errorf("nobody knows whether the head has the new token, which is in %s: `eagleray token status` tells. If the cluster has one token only, remove the file and try again: %w", path, err)
}

// withdrawToken ends the new token of a replacement that is not finished.
func withdrawToken(name, version string, args []string, out io.Writer) error {
	k, flags, err := openKeys(name, version, withdrawOptions, args, out)
	if k == nil {
		return err
	}
	if _, err = k.ask(linkmsg.Admin{Op: linkmsg.AdminWithdrawToken, Force: flags["--force"] != ""}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintln(out, "The new token has ended, and the cluster has the old one only. If there is a file with the new one, remove it.")
	return nil
}

func finishToken(name, version string, args []string, out io.Writer) error {
	k, flags, err := openKeys(name, version, finishOptions, args, out)
	if k == nil {
		return err
	}
	if _, err = k.ask(linkmsg.Admin{Op: linkmsg.AdminFinishToken, Force: flags["--force"] != ""}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintln(out, "The old token has ended: nobody joins with it any more. Nodes that run go on.\nWho has joined with the old one is still a member: `eagleray list nodes` shows all, and `eagleray revoke NODE` ends one.")
	return nil
}

func rotateAuthority(name, version string, args []string, out io.Writer) error {
	k, _, err := openKeys(name, version, keyOptions, args, out)
	if k == nil {
		return err
	}
	a, err := k.ask(linkmsg.Admin{Op: linkmsg.AdminRotateAuthority})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(out, `A new authority (%s) takes the place of the present one (%s). The head does the rest by itself, and everything runs on:
all nodes accept both, then the new one signs, then the old one ends. A node that does not answer delays that until it is dead, and a head for 10 s.
  eagleray authority status   shows how far it is
`, a.Authorities[len(a.Authorities)-1], a.Authorities[0])
	return nil
}

// revokeUsage says what stands before the flags.
const revokeUsage = "usage: eagleray revoke NODE [flags]\n\nNODE is the number, the name or the beginning of the id of a node, as `eagleray list nodes` shows them.\n"

// runRevoke is `eagleray revoke`.
func runRevoke(args []string, version string, out io.Writer) error {
	node := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		node, args = args[0], args[1:]
	}
	if node == "" && (len(args) == 0 || args[0] != "-h" && args[0] != "--help") {
		return usage("revoke: no node is named\n%s", revokeUsage)
	}
	k, _, err := openKeys("revoke", version, keyOptions, args, out)
	if k == nil {
		return err
	}
	a, err := k.ask(linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: node})
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	fmt.Fprintf(out, `%s is no member of the cluster any more: its certificate does not count, its connections have ended, and what ran there is lost.
Its machine still knows the token and can join again as a new node. To keep it out, replace the token on the other machines:
  eagleray token rotate
`, strings.ToUpper(a.Node[:1])+a.Node[1:])
	return nil
}

// tellTokens shows which token each machine has.
func tellTokens(out io.Writer, a *linkmsg.AdminAnswer) {
	if len(a.Tokens) == 1 {
		fmt.Fprintf(out, "The cluster has one token (%s).\n", a.Tokens[0])
	} else {
		fmt.Fprintf(out, "The cluster has two tokens; both count.\n  old   %s\n  new   %s\n", a.Tokens[0], a.Tokens[len(a.Tokens)-1])
	}
	fmt.Fprintf(out, "\n  %-32s %s\n", "the head's machine", tokenText(a, a.HeadHas, true))
	left := 0
	for _, n := range a.Nodes {
		if n.Token != len(a.Tokens) {
			left++
		}
		fmt.Fprintf(out, "  %-32s %s\n", fmt.Sprintf("%s (node %d at %s)", n.Name, n.Number, n.Address), tokenText(a, n.Token, n.Heard))
	}
	switch {
	case len(a.Tokens) == 1 && left > 0:
		fmt.Fprintln(out, "\nThe machines without the token work on, but cannot join again after their next start: put it there.")
	case len(a.Tokens) == 1:
	case left > 0 || a.HeadHas != len(a.Tokens):
		fmt.Fprintln(out, "\nPut the new token in the place of the old one where it is missing. Then: eagleray token finish\nIf nobody has the new token any more, end it: eagleray token withdraw")
	default:
		fmt.Fprintln(out, "\nAll machines have the new token. End the old one: eagleray token finish")
	}
}

func tokenText(a *linkmsg.AdminAnswer, which int, heard bool) string {
	switch {
	case !heard:
		return "has not answered"
	case which == 0:
		return "has no token of this cluster that can be read"
	case len(a.Tokens) == 1:
		return "has the token"
	case which == len(a.Tokens):
		return "has the new token"
	}
	return "has the old token"
}

// tellAuthorities shows how far the replacement of the authority is.
func tellAuthorities(out io.Writer, a *linkmsg.AdminAnswer) {
	switch {
	case len(a.Authorities) == 0:
		fmt.Fprintln(out, "The cluster goes without TLS (--insecure), and has no authority.")
		return
	case len(a.Authorities) == 1:
		fmt.Fprintf(out, "The authority %s signs the certificates of the cluster.\n", a.Authorities[0])
	case a.Signing == 0:
		fmt.Fprintf(out, "The authority %s is to take the place of %s. First all nodes must accept both.\n", a.Authorities[1], a.Authorities[0])
	default:
		fmt.Fprintf(out, "The authority %s signs in the place of %s, which ends when all nodes have new certificates.\n", a.Authorities[1], a.Authorities[0])
	}
	for _, n := range a.Nodes {
		state := "has the present state"
		if !n.Current {
			state = "is waited for"
		}
		fmt.Fprintf(out, "  %-32s %s\n", fmt.Sprintf("%s (node %d at %s)", n.Name, n.Number, n.Address), state)
	}
	for _, number := range a.HeadsWait {
		fmt.Fprintf(out, "  head %-27d is waited for; if it does not answer for 10 s, the rest goes on without it\n", number)
	}
	if len(a.Revoked) > 0 {
		fmt.Fprintf(out, "Revoked: %s\n", strings.Trim(fmt.Sprint(a.Revoked), "[]"))
	}
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// keeper is somebody who had the token and a head's folder once, and has joined as a node then.
type keeper struct {
	a         *attacker
	authority *pki.Authority
	head      pki.Identity // whose folder it was
	node      pki.Identity
}

// kept joins, and prints its number as a node. Then it does what the lines of the standard input say, and prints for each whether it was let in, as JSON:
//
//	token HOST:PORT           ask something with the token
//	node HOST:PORT TO         show the certificate of a node; TO is the number of who listens
//	head HOST:PORT TO NUMBER  show the certificate of a head with that number
//	keys HOST:PORT            ask for the present keys with the token, as the head whose folder it was
//
// Certificates are signed at that time with the authority in the folder, so they have not expired.
func (a *attacker) kept() error {
	f, err := headgroup.ReadFile(a.state)
	if err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	k := &keeper{a: a}
	if k.head, err = f.Self(); err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	ring, err := pki.OpenKeyring(f.Keys, a.token)
	if err != nil {
		return fmt.Errorf("-state: %w", err)
	}
	k.authority = ring.Signer()
	member, err := a.joined()
	if err != nil {
		return err
	}
	k.node = member.Identity
	fmt.Println(k.node.Number)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		in, why, err := k.try(strings.Fields(lines.Text()), f.Heads)
		if err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"in": in, "why": why}); err != nil {
			return err
		}
	}
	return lines.Err()
}

var errWords = errors.New("it is none of the lines that are understood")

// try does what one line says.
func (k *keeper) try(words []string, heads []linkmsg.HeadAt) (in bool, why string, err error) {
	if len(words) < 2 {
		return false, "", errWords
	}
	p := port{kind: "head", address: words[1]}
	if rest := strings.Join(words[2:], " "); rest != "" {
		if _, err := fmt.Sscan(rest, &p.number); err != nil {
			return false, "", errWords
		}
	}
	switch words[0] {
	case "token":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := k.a.client(p.address).Where(ctx, func(linkmsg.Heads) {})
		return err == nil, text(err), nil
	case "keys":
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		own := linkmsg.HeadAt{Number: k.head.Number}
		for _, h := range heads {
			if h.Number == own.Number {
				own.ID = h.ID
			}
		}
		found, err := k.a.client(p.address).Keys(ctx, k.head.Cluster, own)
		return err == nil && len(found[0].Sealed) > 0, text(err), nil
	case "node":
		return k.show(p, k.node)
	case "head":
		as := k.head
		if len(words) != 4 {
			return false, "", errWords
		}
		if _, err := fmt.Sscan(words[3], &as.Number); err != nil {
			return false, "", errWords
		}
		return k.show(p, as)
	}
	return false, "", errWords
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// show shows a certificate of the authority that was kept.
func (k *keeper) show(p port, id pki.Identity) (bool, string, error) {
	certificate, err := signed(k.authority, id, time.Now())
	if err != nil {
		return false, "", err
	}
	in, why, err := shown(p, p.number, id, certificate)
	if errors.Is(err, io.EOF) {
		return false, "the connection was closed", nil
	}
	return in, why, err
}

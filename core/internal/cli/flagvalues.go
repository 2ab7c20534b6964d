package cli

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The checks of flags' values. Each returns what is wrong with a text; the caller adds the flag's name.

// truth reads a value of yes or no, with the words that Ray's command line takes.
func truth(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "t", "1", "yes", "y", "on":
		return true, nil
	case "false", "f", "0", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

func yesOrNo(text string) error {
	_, err := truth(text)
	return err
}

// maxPort is the largest number of a TCP port.
const maxPort = 1<<16 - 1

func port(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 0 || n > maxPort {
		return fmt.Errorf("%q is not a port, which is a whole number from 0 to %d", text, maxPort)
	}
	return nil
}

func ports(text string) error {
	for _, one := range strings.Split(text, ",") {
		if err := port(strings.TrimSpace(one)); err != nil {
			return err
		}
	}
	return nil
}

// someFolder refuses a name that is empty, as that of a variable of the shell which was not set.
func someFolder(text string) error {
	if text == "" {
		return fmt.Errorf("%q names no folder", text)
	}
	return nil
}

func positiveNumber(text string) error {
	_, err := number(text)
	return err
}

func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("%q is not possible, must be %s", text, strings.Join(words, " or "))
	}
}

// maxHostname is the longest name that DNS has.
const maxHostname = 253

// nodeAddress checks an IP address or the name of a machine.
func nodeAddress(text string) error {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	host, number, hasPort := strings.Cut(text, ":")
	switch {
	case hasPort && host != "" && port(number) == nil:
		return fmt.Errorf("%q has a port; give the address alone", text)
	case text == "" || len(text) > maxHostname || strings.ContainsFunc(text, odd) || strings.Trim(text, "0123456789.") == "":
		return fmt.Errorf("%q is neither an IP address nor the name of a machine", text)
	}
	return nil
}

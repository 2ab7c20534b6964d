package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// The flags of health-check are Ray's.
var healthOptions = []option{
	{name: "--address", value: "HOST:PORT,…", about: "heads of the cluster (default: $RAY_ADDRESS, else those of the node that runs here)"},
	{name: "--component", value: "NAME", about: "a part of the cluster, of which ray_client_server is known to Ray; none of them is served here"},
	{name: "--skip-version-check", about: "accepted: the version of the join is always checked, because others are not understood"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live (default: $EAGLERAY_TMPDIR, $RAY_TMPDIR, /tmp)"},
}

// healthLimit is how long a head may take.
const healthLimit = 10 * time.Second

// runHealthCheck ends with status 0 when one of the heads answers, and with 1 when none does. It needs no token.
func runHealthCheck(args []string, out, _ io.Writer) error {
	if askedHelp("health-check", healthOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("health-check", healthOptions, args)
	if err != nil {
		return err
	}
	if c := flags["--component"]; c != "" {
		return fmt.Errorf("health-check: no %q is served in this cluster", c)
	}
	address := flags["--address"]
	if address == "" {
		address = os.Getenv("RAY_ADDRESS")
	}
	var list []string
	if heads.Is(address) {
		if list, err = headAddresses(address); err != nil {
			return usage("health-check: --address: %v", err)
		}
	} else {
		base, err := ownBase(flags)
		if err != nil {
			return fmt.Errorf("health-check: %w", err)
		}
		dir, err := currentSession(base)
		if err != nil {
			return fmt.Errorf("health-check: %w; or give --address=HOST:PORT of a head", err)
		}
		list = heads.Of(dir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthLimit)
	defer cancel()
	var failed []error
	for _, head := range list {
		err := probe(ctx, head)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return fmt.Errorf("health-check: no head answers: %w", errors.Join(failed...))
}

// probe asks one head, with TLS and then without.
func probe(ctx context.Context, head string) error {
	var failed []error
	for _, insecure := range []bool{false, true} {
		conn, channel, err := link.DialJoin(ctx, head, insecure)
		if err == nil {
			err = pki.Probe(ctx, channel)
			conn.Close()
		}
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

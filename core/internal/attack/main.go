package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// attacks has all attacks by name.
var attacks = map[string]func(*attacker) error{
	"garbage":      (*attacker).garbage,
	"oversized":    (*attacker).oversized,
	"slowloris":    (*attacker).slowloris,
	"downgrade":    (*attacker).downgrade,
	"proofs":       (*attacker).proofs,
	"replay":       (*attacker).replay,
	"strange":      (*attacker).strangeFrames,
	"certificates": (*attacker).certificates,
	"member":       (*attacker).member,
	"bombs":        (*attacker).bombs,
	"roles":        (*attacker).roles,
	"http":         (*attacker).overHTTP,
	"seeds":        (*attacker).seeds,
	"kept":         (*attacker).kept,
}

// floods are the attacks that make as many connections as they can.
var floods = []string{"garbage", "oversized", "slowloris", "strange"}

func main() {
	a := &attacker{done: map[string]int{}}
	name := flag.String("attack", "", "which attack: "+strings.Join(slices.Sorted(maps.Keys(attacks)), ", "))
	flag.Func("port", "KIND=HOST:PORT, where KIND is head, node or http; may be given several times", func(text string) error {
		kind, address, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains([]string{"head", "node", "http"}, kind) {
			return errors.New("must be head=HOST:PORT, node=HOST:PORT or http=HOST:PORT")
		}
		a.ports = append(a.ports, port{kind: kind, address: address})
		return nil
	})
	token := flag.String("token-file", "", "the cluster's token, for attacks of somebody who knows it")
	flag.StringVar(&a.state, "state", "", "a copy of the head's folder of state, for attacks of somebody who has the authority's key; it is changed")
	flag.StringVar(&a.canary, "canary", "", "a file that the bombs make")
	flag.StringVar(&a.release, "release", "", "the release that this program says it is of")
	flag.IntVar(&a.lines, "lines", 150, "connections of slowloris, for each port")
	flag.IntVar(&a.workers, "workers", 8, "how many connections most attacks make at a time")
	flag.BoolVar(&a.many, "many", false, "each of these connections comes from an address of its own, as if many machines attacked")
	flag.IntVar(&a.frames, "frames", 0, "how many frames the fuzzing attacks send; 0: as many as the time allows")
	seconds := flag.Float64("seconds", 3, "how long the attack takes; slowloris and a given number of frames may take longer")
	flag.Parse()
	if err := a.run(*name, *token, *seconds); err != nil {
		fmt.Fprintf(os.Stderr, "attack: %v\n", err)
		os.Exit(2)
	}
	report, _ := json.Marshal(map[string]any{"attack": *name, "done": a.done, "breaches": a.breaches}) // texts and numbers only
	fmt.Println(string(report))
	if len(a.breaches) > 0 {
		os.Exit(1)
	}
}

// run makes one attack. An error says that the attack could not be made.
func (a *attacker) run(name, token string, seconds float64) (err error) {
	attack, known := attacks[name]
	if !known {
		return fmt.Errorf("-attack: there is no attack %q", name)
	}
	if len(a.ports) == 0 {
		return errors.New("-port: no port is given")
	}
	if token != "" {
		if a.token, err = pki.ReadToken(token); err != nil {
			return fmt.Errorf("-token-file: %w", err)
		}
	}
	if !slices.Contains(floods, name) {
		for i := range a.ports {
			a.ports[i].pace = new(pace)
		}
	}
	a.end = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	return attack(a)
}

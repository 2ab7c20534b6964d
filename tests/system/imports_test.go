package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/eagleray/eagleray"

// layers names every package of the project, its folders included, from the
// bottom up. A new package is given its place here.
var layers = map[string][]string{
	"leaf":     {"core/internal/strategy", "core/fault", "core/internal/direct", "core/internal/environ", "core/internal/frame", "core/internal/gpus", "core/ids", "core/internal/planted", "core/record", "core/internal/resource", "core/internal/trace", "core/internal/userdir", "core/internal/wait", "core/internal/wire"},
	"bulk":     {"core/internal/otherheads", "core/internal/patient"},
	"linkmsg":  {"core/internal/linkmsg"},
	"sockets":  {"core/internal/transport"},
	"kernels":  {"kernels", "kernels/backend", "kernels/cpu", "kernels/cuda", "kernels/cuda/driver", "kernels/cuda/fakecuda"},
	"part":     {"core/internal/accelerator", "core/internal/actorclass", "core/internal/alarm", "core/internal/archive", "core/internal/cancellation", "core/internal/complaints", "core/internal/crosslanguage", "core/internal/deathtext", "core/internal/envelope", "core/internal/fdlimit", "core/internal/gozygote", "core/internal/heads", "core/internal/inquiry", "core/internal/leases", "core/internal/machine", "core/internal/metrics", "core/internal/nvml", "core/internal/pace", "core/internal/pki", "core/internal/progress", "core/internal/promise", "core/internal/queue", "core/internal/relay", "core/internal/releases", "core/internal/retry", "core/internal/snapshot", "core/internal/spill", "core/internal/store", "core/internal/templates", "core/internal/waiting", "core/internal/web"},
	"packing":  {"core/internal/packing", "core/internal/labels"},
	"pure":     {"core/internal/alive", "core/internal/dir", "core/internal/place", "core/internal/refs", "core/internal/resume", "core/internal/sched"},
	"link":     {"core/internal/link"},
	"join":     {"core/internal/join", "core/internal/trust"},
	"objects":  {"core/internal/objects"},
	"workers":  {"core/internal/warden", "core/internal/workers"},
	"jobs":     {"core/internal/jobguard", "core/internal/jobweb"},
	"overflow": {"core/internal/overflow"},
	"groups":   {"core/internal/groups"},
	"pressure": {"core/internal/pressure"},
	"pipes":    {"core/internal/pipes"},
	"pulls":    {"core/internal/pulls"},
	"keys":     {"core/internal/keyleases", "raftstate/internal/keyspace"},
	"tables":   {"raftstate/internal/actortable", "raftstate/internal/answered", "raftstate/internal/classes", "raftstate/internal/grouptable", "raftstate/internal/values"},
	"state":    {"core/internal/raftlog", "raftstate", "raftstate/internal/blocks", "raftstate/internal/memory", "raftstate/internal/recordstream", "raftstate/internal/requests", "raftstate/internal/ring"},
	"joblogs":  {"core/internal/joblogs"},
	"visitors": {"core/internal/visitors"},
	"packages": {"core/internal/packages", "core/internal/provision"},
	"blobs":    {"core/internal/blobs"},
	"ends":     {"core/internal/actorends"},
	"census":   {"core/internal/census"},
	"sessions": {"core/internal/sessiondir"},
	"callers":  {"core/internal/actors", "core/internal/arguments", "core/internal/generators"},
	"room":     {"core/internal/execute", "core/internal/localstore", "core/internal/notice", "core/internal/sites", "core/internal/submit"},
	"wiring":   {"core/internal/access", "core/internal/borrows", "core/internal/callargs", "core/internal/calls", "core/internal/executor", "core/internal/guests", "core/internal/nodestore"},
	"handover": {"core/internal/handover"},
	"client":   {"core/internal/client"},
	"value":    {"core/internal/value"},
	"daemon":   {"core/internal/daemon"},
	"head":     {"core/internal/head"},
	"headlink": {"core/internal/headlink"},
	"heads":    {"core/internal/headgroup"},
	"process":  {"core/internal/process"},
	"run":      {"core/internal/headprocess", "core/internal/nodeprocess"},
	"inside":   {"core/internal/inside"},
	"api":      {"core", "core/worker"},
	"binding":  {"core/binding"},
	"pybind":   {"pybind"},
	"cmd":      {"cmd/eagleray", "cmd/eagleray-gpu", "core/program", "core/internal/cli", "core/internal/gpucommand"},
	"example":  {"examples"},
	"tests":    {"tests", "core/internal/attack", "core/internal/histories", "core/internal/play", "core/internal/sim", "core/internal/system"},
}

// rule forbids packages of one layer to reach others, directly or through
// what they import. A name in never is a layer, or else an import path.
type rule struct {
	from    string
	never   []string
	because string
	direct  bool // what their imports import is not theirs to answer for
}

const onlyItsDaemon = "a process talks to its own daemon only, over Unix sockets: TLS would cost each of them memory, and bring the node's keys along"

var rules = []rule{
	{"leaf", []string{"kernels", "sockets", "part", "pure", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"both ends of every connection link the leaves, so what a leaf imports is in every process", false},
	{"kernels", []string{"leaf", "sockets", "part", "pure", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a Go program uses device arrays without the runtime", false},
	{"part", []string{"pure", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the roles compose parts, and a part is tested without any role", false},
	{"pure", []string{"kernels", "part", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a pure machine knows its events and actions only, not who sends or performs them", false},
	{"packing", []string{"kernels", "sockets", "part", "pure", "linkmsg", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the machines that place bundles share it: it is a function of what nodes have free", false},
	{"packing", []string{"net", "os", "math/rand", "math/rand/v2", "crypto/rand"},
		"the same nodes must give the same choice", true},
	{"pure", []string{"net", "os", "math/rand", "math/rand/v2", "crypto/rand"},
		"the same events must give the same actions: a trace that a file or a die decides cannot be replayed", true},
	{"keys", []string{"net", "os", "math/rand", "math/rand/v2", "crypto/rand"},
		"the same events must give the same actions, and every head must compute the same keys", true},
	{"keys", []string{"kernels", "part", "pure", "state", "sockets", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a pure machine knows its events and actions only, not who sends or performs them", false},
	{"tables", []string{"net", "os", "math/rand", "math/rand/v2", "crypto/rand"},
		"the same commands must give the same tables on every head", true},
	{"tables", []string{"kernels", "part", "pure", "state", "sockets", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a table of the state knows neither the commands nor the member that has it", false},
	{"state", []string{"kernels", "part", "pure", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"every head must compute the same state, whatever roles its binary has", false},
	{"sockets", []string{"kernels", "part", "pure", "state", "callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"what is said on a socket is its user's: the poller knows connections and waits, and no tasks or objects", false},
	{"part", []string{"sockets"},
		"parts do not talk: whoever composes them does", false},
	{"pure", []string{"sockets"},
		"a pure machine sends nothing itself", false},
	{"callers", []string{"callers", "kernels", "sockets", "state", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"what a process knows of its actors, generators and arguments is below the calls that use them, and is tested without calls", false},
	{"room", []string{"room", "kernels", "sockets", "state", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the parts of a session do not know each other or connections: they meet in the client, and each is tested alone", false},
	{"wiring", []string{"kernels", "state", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"what joins a part of a session to its connections is given the session's mutex and knows no session", false},
	{"handover", []string{"kernels", "sockets", "state", "wiring", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"what a worker says to its successor is a document: whoever reads it is tested without a session", false},
	{"client", []string{"objects", "workers", "pressure", "pipes", "daemon", "head", "state", "api", "binding", "pybind", "cmd"},
		"the client is loaded in every worker and must not bring a server along", false},
	{"value", []string{"callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "head", "state", "api", "binding", "pybind", "cmd"},
		"what a Go value is in Python does not depend on how it travels", false},
	{"workers", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"processes are started, watched and ended without knowing what they are for", false},
	{"pressure", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the daemon gives the watches its workers as interfaces, so that they are tested with played figures and workers", false},
	{"pipes", []string{"kernels", "part", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a pipe knows two ends and no tasks or objects: the network and the daemon are interfaces that it declares", false},
	{"pulls", []string{"kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "workers", "pressure", "pipes", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"pulls join the stores of two nodes: the network is an interface that they declare, and they know no tasks", false},
	{"joblogs", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "pressure", "pipes", "pulls", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it brings lines to drivers: the network is an interface that it declares, and it knows no tasks", false},
	{"jobs", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "pressure", "pipes", "pulls", "joblogs", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a submitted job is a shell command, and what jobs are is known to a Python process: no part of the runtime is needed to run the one or to reach the other", false},
	{"visitors", []string{"kernels", "part", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it asks other nodes about jobs: the network is an interface that it declares, and what this node knows is a function", false},
	{"packages", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it brings folders from node to node: the connection and the cluster's jobs are functions that it is given", false},
	{"bulk", []string{"leaf", "linkmsg", "part", "packages", "blobs", "kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it says how bytes go between machines, and not which: whoever sends files or objects in bulk shares it", false},
	{"blobs", []string{"linkmsg", "part", "packages", "kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it brings values from head to head: the connection and the cluster's state are interfaces that it declares", false},
	{"ends", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it answers questions: the head, the network and the node's own actors are interfaces that it declares", false},
	{"census", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "pulls", "joblogs", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it asks processes and nodes and joins what they answer: the daemon and the network are interfaces that it declares", false},
	{"sessions", []string{"kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "pressure", "pipes", "pulls", "joblogs", "census", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the directories of sessions are there before a daemon, and after it", false},
	{"objects", []string{"kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "workers", "pressure", "pipes", "pulls", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"the daemon gives the object store its processes as an interface, so that the store is tested without connections", false},
	{"overflow", []string{"kernels", "part", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "link", "linkmsg", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it passes on what the scheduler decides: the head is an interface, and who says it to whom is not its business", false},
	{"groups", []string{"kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "link", "linkmsg", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it joins a scheduler and a head: each is an interface or a function here, and who says it to whom is not its business", false},
	{"link", []string{"kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"a link carries bytes and messages between nodes, and does not know what they mean", false},
	{"join", []string{"headlink", "kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"how a node joins is the same whatever it and the head do afterwards; what a head knows of nodes is an interface", false},
	{"daemon", []string{"link", module + "/core/internal/pki"},
		"the daemon names what it needs of the network, and cmd wires it: its tests need no cluster", false},
	{"daemon", []string{"callers", "room", "wiring", "handover", "client", "head", "state", "api", "binding", "pybind", "cmd"},
		"a daemon may have no head role; it names the interface that it needs and cmd wires the two", false},
	{"daemon", []string{"github.com/ebitengine/purego"},
		"what opens vendors' libraries needs the dynamic linker, and the daemon is static; cmd/eagleray-gpu does it", false},
	{"head", []string{"callers", "room", "wiring", "handover", "client", "objects", "workers", "pressure", "pipes", "daemon", "state", "api", "binding", "pybind", "cmd"},
		"the head names the State that it needs, so that its tests need no Raft; cmd wires them", false},
	{"process", []string{"run", "kernels", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "pressure", "pipes", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it is what the warden, the head and the daemon share as processes, and it knows none of their roles", false},
	{"run", []string{"run", "kernels", "api", "binding", "pybind", "cmd"},
		"a head and a node are processes that know each other by their connections only; the command line starts both", false},
	{"linkmsg", []string{"part", "headlink", "kernels", "sockets", "pure", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"both ends of a connection between nodes link the messages, so they bring no role along", false},
	{"headlink", []string{module + "/core/internal/refs", module + "/core/internal/resume", module + "/core/internal/sched"},
		"of the pure machines it drives the one that places work in the cluster; the others belong to nodes and links", false},
	{"headlink", []string{"kernels", "sockets", "state", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"it joins a daemon and a head that do not know each other: each is an interface here, and the connections come from whoever makes them", false},
	{"heads", []string{"kernels", "sockets", "callers", "room", "wiring", "handover", "client", "value", "objects", "workers", "pressure", "pipes", "link", "headlink", "daemon", "head", "api", "binding", "pybind", "cmd"},
		"heads know each other by Raft's messages; the connections are functions that they are given", false},
	{"daemon", []string{"headlink"},
		"the daemon does not know whether its head is in its process", false},
	{"daemon", []string{"linkmsg"},
		"the daemon speaks to processes of its own node; what it uses, such as pulls, speaks to other nodes", true},
	{"head", []string{"headlink", "linkmsg"},
		"the head does not know where its nodes are", false},
	{"client", []string{"headlink", "linkmsg"},
		"a worker talks to its own daemon only", false},
	{"state", []string{"headlink", "linkmsg"},
		"the state knows changes, and not who sends them", false},
	{"api", []string{"objects", "workers", "pressure", "pipes", "daemon", "head", "state", "binding", "pybind", "cmd"},
		"a Go service that uses the API is a client, not a server", false},
	{"binding", []string{"objects", "workers", "pressure", "pipes", "daemon", "head", "state", "pybind", "cmd"},
		"it is linked into the library that every worker loads", false},
	{"pybind", []string{"objects", "workers", "pressure", "pipes", "daemon", "head", "state", "cmd"},
		"the library is loaded in every worker: a server in it costs each of them memory", false},
	{"pybind", []string{"github.com/hashicorp/raft", "github.com/klauspost/compress/zstd", "net/http"},
		"heavy dependencies cost every worker megabytes of private memory", false},
	{"client", []string{"crypto/tls", module + "/core/internal/link", module + "/core/internal/pki"}, onlyItsDaemon, false},
	{"binding", []string{"crypto/tls", module + "/core/internal/link", module + "/core/internal/pki"}, onlyItsDaemon, false},
	{"pybind", []string{"crypto/tls", module + "/core/internal/link", module + "/core/internal/pki"}, onlyItsDaemon, false},
	{"cmd", []string{"pybind", "kernels"},
		"the daemon runs no user code: it is one static binary, without C", false},
}

// The packages that may hold C. The daemon is static because nothing that it
// links does.
var mayUseC = []string{"kernels", "pybind"}

// programsInC are the programs that may hold C. eagleray-gpu loads the vendor's
// libraries, so it needs libc anyway, and its C lets it start with an old glibc.
var programsInC = []string{module + "/cmd/eagleray-gpu"}

// pkg is what `go list -json` tells of one package.
type pkg struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
	Standard   bool
}

// layerOf returns the layer that a package stands in, "" for a package of
// someone else or one that layers does not name.
func layerOf(path string) string {
	rest, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	layer, longest := "", -1
	for name, dirs := range layers {
		for _, dir := range dirs {
			inside := dir != "core" && strings.HasPrefix(rest, dir+"/")
			if (rest == dir || inside) && len(dir) > longest {
				layer, longest = name, len(dir)
			}
		}
	}
	return layer
}

// route returns the shortest chain of imports from a package to one for which
// found holds, nil when there is none. A package of the standard library ends
// a chain: what it imports is not ours to say.
func route(pkgs map[string]pkg, from string, direct bool, found func(path string) bool) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && found(at) {
			var chain []string
			for ; at != ""; at = before[at] {
				chain = append(chain, strings.TrimPrefix(at, module+"/"))
			}
			slices.Reverse(chain)
			return chain
		}
		if pkgs[at].Standard || direct && at != from {
			continue
		}
		for _, next := range pkgs[at].Imports {
			if _, seen := before[next]; !seen {
				before[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// violations returns one line for each package and rule that it breaks.
func violations(pkgs map[string]pkg) []string {
	var lines []string
	for path, p := range pkgs {
		layer := layerOf(path)
		if layer == "" {
			if strings.HasPrefix(path, module) {
				lines = append(lines, fmt.Sprintf("%s stands in no layer: name it in this test", path))
			}
			continue
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(mayUseC, layer) && !slices.Contains(programsInC, path) {
			lines = append(lines, fmt.Sprintf("%s uses cgo: only %v may", path, mayUseC))
		}
		for _, r := range rules {
			if r.from != layer {
				continue
			}
			for _, never := range r.never {
				chain := route(pkgs, path, r.direct, func(to string) bool { return to == never || layerOf(to) == never })
				if chain != nil {
					lines = append(lines, fmt.Sprintf("%s: %s", strings.Join(chain, " → "), r.because))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func list(t *testing.T) map[string]pkg {
	t.Helper()
	// The tag shows pybind/hot, which only the library's build compiles.
	out, err := exec.Command("go", "list", "-e", "-deps", "-tags=eagleray_hot", "-json=ImportPath,Imports,CgoFiles,Standard", module+"/...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	pkgs := map[string]pkg{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
}

func TestImports_Project_FollowTheLayers(t *testing.T) {
	for _, line := range violations(list(t)) {
		t.Error(line)
	}
}

func TestImports_EveryForbiddenEdge_IsFound(t *testing.T) {
	for _, r := range rules {
		for _, never := range r.never {
			target, between := never, module+"/tests/between"
			if dirs, ours := layers[never]; ours {
				target = module + "/" + dirs[0]
				if never == r.from {
					target += "/sibling" // folders of a package are in its layer
				}
			}
			from := module + "/" + layers[r.from][0]
			imports := []string{between}
			if r.direct {
				imports = []string{target}
			}
			pkgs := map[string]pkg{
				from:    {ImportPath: from, Imports: imports},
				between: {ImportPath: between, Imports: []string{target}},
				target:  {ImportPath: target},
			}
			if len(violations(pkgs)) == 0 {
				t.Errorf("%s → %s was not found", r.from, never)
			}
		}
	}
}

func TestImports_CgoOrUnknownPackage_IsFound(t *testing.T) {
	daemon, unknown := module+"/core/internal/daemon", module+"/core/other"
	got := violations(map[string]pkg{
		daemon:  {ImportPath: daemon, CgoFiles: []string{"a.go"}},
		unknown: {ImportPath: unknown},
	})
	if len(got) != 2 {
		t.Errorf("violations = %q, want one for cgo and one for the unknown package", got)
	}
}

package accelerator

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// GPU is the resource that three families share.
const GPU = "GPU"

// Family is one vendor's kind of accelerator.
type Family struct {
	Name      string   // "nvidia", as in EAGLERAY_GPU_FAMILY
	Resource  string   // "GPU"
	Vars      []string // visibility variables; the first is named in messages
	Fractions bool     // several tasks may share one
	Counts    []int    // the only counts that can be asked for; nil: any

	// detect looks at the node. It returns nothing where there is nothing.
	detect func(h *host) found
	// memory tells how much each device has; nil: nobody does. The ids are those
	// that are offered. See GPUMemory.
	memory func(h *host, ids []string) []memoryOf
	// limit reads the visibility variables; nil: a list of ids in Vars[0].
	limit func(env Lookup) (limit, error)
	// env makes the given devices visible, none for none; nil: a list in Vars[0].
	env func(g *Group, ids []string) map[string]string
}

// found is what detection saw.
type found struct {
	ids    []string // how a process names them, in order
	kind   string   // type name, "" when unknown
	extras []string // further resources of the node, one of each
	labels map[string]string
}

// limit is what the node's visibility variable says.
type limit struct {
	set  bool
	ids  []string
	form string // what stands in front of the ids, for families with a choice
}

// readLimit returns what the node's variables say of the family.
func (f *Family) readLimit(env Lookup) (limit, error) {
	if f.limit != nil {
		return f.limit(env)
	}
	value, ok := env(f.Vars[0])
	return limit{set: ok, ids: splitIDs(value)}, nil
}

// visible returns the variables that make exactly these devices visible.
func (f *Family) visible(g *Group, ids []string) map[string]string {
	if f.env != nil {
		return f.env(g, ids)
	}
	return map[string]string{f.Vars[0]: strings.Join(ids, ",")}
}

// anySet reports whether the node has one of the family's variables, not empty.
func (f *Family) anySet(env Lookup) bool {
	return slices.ContainsFunc(f.Vars, func(name string) bool {
		value, _ := env(name)
		return value != ""
	})
}

// unique returns the ids without those that came before.
func unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	var once []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}

// splitIDs reads a list of ids. As in CUDA the first that is negative or says
// none ends it.
func splitIDs(list string) []string {
	var ids []string
	for id := range strings.SplitSeq(list, ",") {
		switch id = strings.TrimSpace(id); {
		case id == "":
			continue
		case id[0] == '-', id == "NoDevFiles", id == "none", id == "void":
			return ids
		}
		ids = append(ids, id)
	}
	return ids
}

// Lookup reads a variable of the daemon's environment, as os.LookupEnv does: one
// that is set to nothing differs from one that is not set.
type Lookup func(name string) (value string, ok bool)

// Options of Detect.
type Options struct {
	Root        string        // "" is the real machine; tests give a folder with dev, proc, sys, usr, opt
	ToolPath    string        // folders of vendor tools, like PATH; "" is PATH, and nothing where Root is given
	ToolTimeout time.Duration // of one run; 0 is 5 s
	GPUHelper   string        // eagleray-gpu, which opens NVIDIA's library; "": nobody does
	NVML        string        // that library; "" is what the dynamic linker finds, and none where Root is given
	// Declared counts by resource name; what is absent is detected. Names that
	// are no accelerator's are ignored.
	Declared  map[string]float64
	GPUMemory []int64 // declared bytes, of every GPU or of each; nil: see Node.GPUMemory
}

// Node is what a node has. Of the families that share a resource name at most
// one has ids.
type Node struct {
	Groups         []Group
	Notes          []string // what to tell the user of vendors' tools that failed
	overrideOnZero bool
	host           *host
	memory         []int64 // declared, see GPUMemory
}

// Group is a family on a node.
type Group struct {
	Family       *Family
	IDs          []string // what is offered; empty when it is only there, to be hidden
	Detected     int      // how many the node was seen to have
	FromVariable bool     // the node's visibility variable gave the ids
	Type         string   // "H100"; "" when unknown

	form   string   // of the variable, see limit
	extras []string // see found
	labels map[string]string
	noSet  bool // the variables are the user's own affair
}

// memoryOf is one device's memory as the family's driver or tool tells it.
type memoryOf struct {
	names []string // index, UUID
	bytes int64
}

// host is where detection looks: the node, or a test's stand-in.
type host struct {
	root    string
	folders []string // of tools
	timeout time.Duration
	nvml    string   // library; "": the machine's own, unless root is given
	helper  string   // that opens it
	hide    []string // variables that tools do not get
	env     Lookup

	mu    sync.Mutex
	notes []string // what a user should know of tools that did not do their part
}

func allNumbers(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		_, err := strconv.ParseUint(id, 10, 31)
		return err != nil
	})
}

package accelerator

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// familyVar chooses among the families that share a resource name.
const familyVar = "EAGLERAY_GPU_FAMILY"

// maxDeclared bounds the devices of one resource on a node.
const maxDeclared = 1 << 16

// Detect returns what the node offers. Its errors are for the user: they say
// which variable or argument is wrong.
func Detect(env Lookup, o Options) (Node, error) {
	h := newHost(env, o)
	n := Node{host: h, overrideOnZero: !off(env, "EAGLERAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO") && !off(env, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")}
	seen := detectAll(h)
	n.Notes = h.noted()
	for i, f := range families {
		if slices.IndexFunc(families, func(g *Family) bool { return g.Resource == f.Resource }) < i {
			continue
		}
		chosen, err := choose(env, f.Resource, seen)
		if err != nil {
			return Node{}, err
		}
		for _, f := range families {
			if f.Resource != chosen.Resource {
				continue
			}
			g := Group{Family: f, Detected: len(seen[f].ids), noSet: noSet(env, f)}
			if f == chosen {
				if err := g.fill(env, o, seen[f]); err != nil {
					return Node{}, err
				}
			}
			if g.Detected > 0 || len(g.IDs) > 0 {
				n.Groups = append(n.Groups, g)
			}
		}
	}
	return n, n.declareMemory(o.GPUMemory)
}

// detectAll looks for all families at a time: the slowest tool is what it
// costs. A family whose driver keeps even a killed tool or the reading of a file
// hanging is given up.
func detectAll(h *host) map[*Family]found {
	type result struct {
		family *Family
		found  found
	}
	results := make(chan result, len(families))
	for _, f := range families {
		go func() { results <- result{f, f.detect(h)} }()
	}
	seen := make(map[*Family]found, len(families))
	late := time.After(h.timeout + giveUpAfter)
	for range families {
		select {
		case r := <-results:
			if len(r.found.ids) <= maxDetected {
				seen[r.family] = r.found
			}
		case <-late:
			for _, f := range families {
				if _, ok := seen[f]; !ok {
					h.note("the driver of %s devices (%s) did not answer: they count as absent", f.Resource, f.Name)
				}
			}
			return seen
		}
	}
	return seen
}

// choose returns the family that a resource name stands for on this node: the
// detected one. Among several, or when there is none, it is the one whose
// variable is set, then the one that EAGLERAY_GPU_FAMILY names, then the first.
func choose(env Lookup, resourceName string, seen map[*Family]found) (*Family, error) {
	var all, detected []*Family
	for _, f := range families {
		if f.Resource != resourceName {
			continue
		}
		all = append(all, f)
		if len(seen[f].ids) > 0 {
			detected = append(detected, f)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	named, ok := env(familyVar)
	byName := func(f *Family) bool { return f.Name == strings.ToLower(named) }
	if ok && named != "" && !slices.ContainsFunc(all, byName) {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("%s=%s: must be one of %s", familyVar, named, strings.Join(names, ", "))
	}
	if len(detected) == 0 {
		detected = all
	}
	set := slices.DeleteFunc(slices.Clone(detected), func(f *Family) bool { return !f.anySet(env) })
	if len(set) > 0 {
		detected = set
	}
	if i := slices.IndexFunc(detected, byName); i >= 0 {
		return detected[i], nil
	}
	return detected[0], nil
}

// fill sets what the chosen family offers.
func (g *Group) fill(env Lookup, o Options, seen found) error {
	f := g.Family
	l, err := f.readLimit(env)
	if err != nil {
		return err
	}
	g.form, g.Type, g.extras, g.labels = l.form, seen.kind, seen.extras, seen.labels
	if id, twice := repeated(l.ids); twice {
		return fmt.Errorf("%s names the device %q twice", f.varName(env), id)
	}
	declared, isDeclared := o.Declared[f.Resource]
	if isDeclared && (declared < 0 || declared > maxDeclared || declared != math.Trunc(declared) || math.IsNaN(declared)) {
		return fmt.Errorf("%s: %v devices declared; must be a whole number from 0 to %d", f.Resource, declared, maxDeclared)
	}
	count := int(declared)
	switch {
	case l.set && isDeclared && count > len(l.ids):
		name := f.varName(env)
		value, _ := env(name)
		return fmt.Errorf("%s: %d devices declared, but %s=%s limits this node to %d: declare no more, or change the variable", f.Resource, count, name, value, len(l.ids))
	case l.set && isDeclared:
		g.IDs = l.ids[:count]
	case l.set && !allNumbers(l.ids) && len(seen.ids) > 0:
		g.IDs = l.ids // UUIDs and MIG names: several may be parts of one device
	case l.set:
		g.IDs = l.ids[:min(len(l.ids), len(seen.ids))]
	case !isDeclared:
		g.IDs = seen.ids
	case count <= len(seen.ids):
		g.IDs = seen.ids[:count]
	default:
		g.IDs = extend(seen.ids, count)
	}
	g.FromVariable = l.set
	return nil
}

// extend returns count ids: those that are there, then the lowest numbers that
// are not among them.
func extend(ids []string, count int) []string {
	all := slices.Clone(ids)
	have := make(map[string]bool, len(ids))
	for _, id := range ids {
		have[id] = true
	}
	for n := 0; len(all) < count; n++ {
		if id := strconv.Itoa(n); !have[id] {
			all = append(all, id)
		}
	}
	return all
}

// repeated returns the first id that is in the list twice.
func repeated(ids []string) (id string, twice bool) {
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return id, true
		}
		seen[id] = true
	}
	return "", false
}

// varName returns the variable of the family that the node has.
func (f *Family) varName(env Lookup) string {
	for _, name := range f.Vars {
		if _, ok := env(name); ok {
			return name
		}
	}
	return f.Vars[0]
}

// off reports whether a switch is set to no.
func off(env Lookup, name string) bool {
	value, ok := env(name)
	return ok && (value == "0" || strings.EqualFold(value, "false"))
}

// noSet reports whether the user sets the family's variables himself.
func noSet(env Lookup, f *Family) bool {
	return slices.ContainsFunc(f.Vars, func(name string) bool {
		for _, prefix := range []string{"EAGLERAY", "RAY"} {
			name := prefix + "_EXPERIMENTAL_NOSET_" + name
			if value, _ := env(name); value != "" && !off(env, name) {
				return true
			}
		}
		return false
	})
}

func newHost(env Lookup, o Options) *host {
	h := &host{root: o.Root, timeout: o.ToolTimeout, nvml: o.NVML, helper: o.GPUHelper, env: env}
	if h.timeout == 0 {
		h.timeout = defaultToolTimeout
	}
	for _, f := range families {
		h.hide = append(h.hide, f.Vars...)
	}
	path := o.ToolPath
	if path == "" && o.Root == "" {
		path, _ = env("PATH")
	}
	h.folders = filepath.SplitList(path)
	for _, dir := range vendorFolders {
		h.folders = append(h.folders, h.path(dir))
	}
	return h
}

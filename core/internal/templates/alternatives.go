package templates

import (
	"fmt"
	"sort"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// Choice returns the template that a task runs as in a choice of resources: itself for
// choice 0, else one of its alternatives.
func (t *Template[C]) Choice(choice int) *Template[C] {
	if choice == 0 {
		return t
	}
	return t.Fallback[choice-1]
}

// complete returns an alternative with all that it does not change from the template.
func (t *Template[C]) complete(o *Template[C]) *Template[C] {
	x := *o
	x.Kind, x.Returns, x.MaxRetries, x.RetryErrs, x.EnvKey, x.Strategy, x.Flow = t.Kind, t.Returns, t.MaxRetries, t.RetryErrs, t.EnvKey, t.Strategy, t.Flow
	if len(x.FID) == 0 {
		x.FID, x.Blob = t.FID, t.Blob
	}
	if x.Name == "" {
		x.Name = t.Name
	}
	x.Fallback = nil
	return &x
}

// Alternatives returns what the daemon is told of them.
func (t *Template[C]) Alternatives() (list []wire.Alternative) {
	for _, o := range t.Fallback {
		list = append(list, wire.Alternative{Resources: o.Resources})
	}
	return list
}

// ClassKey returns what tells scheduling classes apart. A function that ends its workers, or that
// is short while another one is long, has a class of its own, because the depth is measured for each class.
func (t *Template[C]) ClassKey() string {
	var b strings.Builder
	resourcesKey(&b, t.Resources)
	fmt.Fprintf(&b, "|%s|%s|%d|%t|%x", t.EnvKey, t.Strategy, t.MaxCalls, t.Enforce, t.FID)
	for _, o := range t.Fallback {
		b.WriteString("|else ")
		resourcesKey(&b, o.Resources)
		fmt.Fprintf(&b, "|%d|%x", o.MaxCalls, o.FID)
	}
	if t.AfterMs > 0 {
		fmt.Fprintf(&b, "|after %d", t.AfterMs)
	}
	if t.Near != 0 {
		fmt.Fprintf(&b, "|near %d", t.Near)
	}
	return b.String()
}

// ShapeKey returns what tells apart the classes that may exchange leases, "" for a class that exchanges
// nothing: a class with alternatives, because each of its leases has a choice, and one whose workers end
// after some calls.
func (t *Template[C]) ShapeKey() string {
	if len(t.Fallback) > 0 || t.AfterMs > 0 || t.MaxCalls != 0 {
		return ""
	}
	var b strings.Builder
	resourcesKey(&b, t.Resources)
	fmt.Fprintf(&b, "|%s|%s|%t", t.EnvKey, t.Strategy, t.Enforce)
	return b.String()
}

// resourcesKey writes amounts of resources in the order of their names.
func resourcesKey(b *strings.Builder, r map[string]int64) {
	names := make([]string, 0, len(r))
	for n := range r {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(b, "%s=%d,", n, r[n])
	}
}

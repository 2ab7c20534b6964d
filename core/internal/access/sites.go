package access

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Arrived notes where a reference that another process owns came in. The mutex is held.
func (a *Objects) Arrived(o *refs.Object, site uint32) {
	if o.Site() == 0 && !o.Owned() {
		o.Arrived(a.ArrivalSite(site))
	}
}

// ArrivalSite implements refs.Effects: it returns the site of references that come in at a site of the program.
// References that come in at no line of the program came with the arguments of the task that runs.
func (a *Objects) ArrivalSite(site uint32) uint32 {
	if site == 0 && a.exec != nil {
		if task, any := a.exec.LastName(); any {
			site = a.sites.OfArgument(task)
		}
	}
	return site
}

// SiteOf says where the program got a reference, "" when nobody knows.
func (a *Objects) SiteOf(id ids.Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o := a.table.Find(id); o != nil {
		return a.sites.Site(o)
	}
	return ""
}

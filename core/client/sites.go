package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
)

// Where references were made. Each object carries two numbers: of a line of
// the program, which the program's side has counted, and of the function that
// makes it. Numbers with the highest bit set are this client's own, for texts
// that have no number elsewhere.

const (
	ownText  = 1 << 31
	ofMethod = 1 << 30 // of a maker
)

// maxTexts bounds them: a program may be called by many functions.
const maxTexts = 1 << 14

// textNumber gives a text a number; mu held.
func (c *Client) textNumber(s string) uint32 {
	if s == "" {
		return 0
	}
	if n, ok := c.byText[s]; ok {
		return n
	}
	if len(c.texts) >= maxTexts {
		return 0
	}
	if c.byText == nil {
		c.byText = map[string]uint32{}
	}
	n := ownText | uint32(len(c.texts))
	c.texts = append(c.texts, s)
	c.byText[s] = n
	return n
}

// makerNumber numbers a template's name, and says whether it is a method's; mu held.
func (c *Client) makerNumber(t *Template) uint32 {
	n := c.textNumber(t.Name)
	if n == 0 {
		if c.otherMaker == 0 {
			c.otherMaker = ownText | uint32(len(c.texts))
			c.texts = append(c.texts, manyNames)
		}
		n = c.otherMaker
	}
	if t.Kind == KindMethod {
		n |= ofMethod
	}
	return n
}

// arrived notes where a reference of another process's came in; mu held.
func (c *Client) arrived(o *refs.Object, site uint32) {
	if o.Site() != 0 || o.Owned() {
		return
	}
	o.Arrived(c.arrivalSite(site))
}

// arrivalSite returns the site of references that come in at a site of the program; mu held.
func (c *Client) arrivalSite(site uint32) uint32 {
	if site == 0 && c.exec != nil {
		if task, any := c.exec.LastName(); any { // no line of the program's: they came with its arguments
			site = c.textNumber("(deserialize task arg) " + task)
		}
	}
	return site
}

// siteOf says where a reference was made, "" when nobody knows; mu held.
func (c *Client) siteOf(o *refs.Object) string {
	if o.Site()&ownText != 0 {
		return c.texts[o.Site()&^ownText]
	}
	if o.Site() == 0 || c.opts.Site == nil {
		return ""
	}
	line := c.opts.Site(o.Site())
	switch handle := o.IsToken(); {
	case handle && o.Owned():
		return "(actor creation) | " + line
	case handle:
		return "(actor handle) | " + line
	case !o.Owned():
		return "(deserialize) | " + line
	case o.Maker() == 0:
		return "(put object) | " + line
	case o.ID.Index() == 0:
		return "(task argument) " + c.makerOf(o) + " | " + line
	case c.isCall(o):
		return "(actor call) " + c.makerOf(o) + " | " + line
	}
	return "(task call) " + c.makerOf(o) + " | " + line
}

// makerOf names the function that makes the object; mu held.
func (c *Client) makerOf(o *refs.Object) string {
	if n := o.Maker(); n&ownText != 0 {
		return c.texts[n&^(ownText|ofMethod)]
	}
	return ""
}

func (c *Client) isCall(o *refs.Object) bool {
	return o.Maker()&ofMethod != 0
}

// SiteOf says where the program got a reference, "" when nobody knows.
func (c *Client) SiteOf(id ids.Object) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.table.Find(id); o != nil {
		return c.siteOf(o)
	}
	return ""
}

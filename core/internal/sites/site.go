package sites

import "github.com/eagleray/eagleray/core/internal/refs"

var _ refs.Texts = (*Texts)(nil)

// Site says where a reference was made, "" when nobody knows.
func (t *Texts) Site(o *refs.Object) string {
	if o.Site()&ownText != 0 {
		return t.text(o.Site())
	}
	if o.Site() == 0 || t.Line == nil {
		return ""
	}
	line := t.Line(o.Site())
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
		return "(task argument) " + t.Maker(o) + " | " + line
	case isMethod(o):
		return "(actor call) " + t.Maker(o) + " | " + line
	}
	return "(task call) " + t.Maker(o) + " | " + line
}

// Maker names the function that makes the object, "" when none does.
func (t *Texts) Maker(o *refs.Object) string { return t.text(o.Maker()) }

func isMethod(o *refs.Object) bool { return o.Maker()&ofMethod != 0 }

// TextsOf implements refs.Texts.
func (t *Texts) TextsOf(o *refs.Object) (site, maker string) { return t.Site(o), t.Maker(o) }

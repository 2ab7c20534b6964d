package submit

import (
	"github.com/eagleray/eagleray/core/internal/refs"
)

// alter changes what is known of an object, past the table's events: whoever
// waits for the object is not told.
func alter(o *refs.Object, change func(f *refs.Facts)) {
	f := o.Facts()
	change(&f)
	o.Restore(f)
}

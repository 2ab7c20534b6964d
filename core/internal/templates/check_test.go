package templates

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestCheckResources_NamesTooLongOrTooMany_Refused(t *testing.T) {
	many := func(n int, length int) map[string]int64 {
		r := map[string]int64{}
		for i := range n {
			r[fmt.Sprintf("%0*d", length, i)] = 1
		}
		return r
	}
	for _, r := range []map[string]int64{many(1, MaxResourceName), many(10_000, 20), many(wire.MaxAmounts, 5)} {
		if err := CheckResources("f", r); err != nil {
			t.Error(err)
		}
	}
	for _, r := range []map[string]int64{many(1, MaxResourceName+1), many(1000, 3000), many(wire.MaxAmounts+1, 5)} {
		if err := CheckResources("f", r); fault.CodeOf(err) != fault.BadRequest || len(err.Error()) > 1000 {
			t.Errorf("%.200v", err)
		}
	}
}

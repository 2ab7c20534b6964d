package accelerator

import (
	"testing"
)

// FuzzVariables reads what a user may have put into the node's variables.
func FuzzVariables(f *testing.F) {
	for _, seed := range []string{"", "1,3", "GPU-a,MIG-b/1/2", "0-3,7", "level_zero:1,3;!opencl:*", "!*:gpu", "-1", "void", "all", "0-65535,0-65535", ",,", "1.2:gpu"} {
		f.Add(seed)
	}
	gpus := []nvidiaGPU{{"A", "GPU-a"}, {"A", "GPU-b"}, {"A", "GPU-c"}}
	f.Fuzz(func(t *testing.T, value string) {
		has := func(string) (string, bool) { return value, true }
		for _, family := range families {
			l, err := family.readLimit(has)
			if err != nil || len(l.ids) > maxDeclared+len(value) {
				t.Fatalf("%s: %d ids, %v", family.Name, len(l.ids), err)
			}
			for _, id := range l.ids {
				if id == "" {
					t.Fatalf("%s reads an empty id from %q", family.Name, value)
				}
			}
		}
		ids := nvidiaIDs(&host{env: has}, gpus)
		if id, twice := repeated(ids); twice {
			t.Fatalf("%q gives the device %s twice", value, id)
		}
	})
}

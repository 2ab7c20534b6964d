package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/record"
)

// printRequested prints what programs have asked the autoscaler for with request_resources, as the cluster's state keeps it.
func printRequested(out io.Writer, value []byte) {
	if len(value) == 0 {
		return
	}
	list, err := record.ParseDemands(value)
	if err != nil {
		fmt.Fprintf(out, "\nWhat request_resources() has asked for cannot be read: %v\n", err)
		return
	}
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\nDemands from request_resources()\n")
	for i := range list {
		d := &list[i]
		labels := ""
		if len(d.Labels) > 0 {
			var all []string
			for _, name := range sortedKeys(d.Labels) {
				all = append(all, name+"="+d.Labels[name])
			}
			labels = " on nodes with " + strings.Join(all, ", ")
		}
		fmt.Fprintf(out, "  %d × %s%s\n", d.Count, resource.FromWire(d.Resources).String(), labels)
	}
}

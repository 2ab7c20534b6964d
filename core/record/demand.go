package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Where the internal key-values of the cluster keep what programs have asked the autoscaler for (request_resources). The value is a list of Demand in JSON.
const (
	DemandNamespace = "eagleray.demand"
	DemandKey       = "request_resources"
)

// Bounds of what programs may ask the autoscaler for.
const (
	MaxDemands     = 1024    // different bundles
	MaxDemandCount = 1 << 30 // of one bundle
	maxDemandNames = 64      // resources and labels of one bundle
	maxDemandText  = 512     // bytes of a name
	maxDemandBytes = 48 << 10
)

// Demand is a number of equal bundles that the cluster is to have room for, whether they are in use or not.
type Demand struct {
	Count     int               `json:"count"`
	Resources map[string]int64  `json:"resources"`        // in units of 1/10000
	Labels    map[string]string `json:"labels,omitempty"` // label → selector that the bundle's node must fit
}

// ParseDemands reads and checks what programs have asked for.
func ParseDemands(b []byte) (list []Demand, err error) {
	if len(b) > maxDemandBytes {
		return nil, fmt.Errorf("request_resources: %w: %d bytes, at most %d are allowed: ask for fewer different bundles", ErrInvalid, len(b), maxDemandBytes)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("request_resources: %w: %v", ErrInvalid, err)
	}
	if len(list) > MaxDemands {
		return nil, fmt.Errorf("request_resources: %w: %d different bundles, at most %d are allowed", ErrInvalid, len(list), MaxDemands)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, fmt.Errorf("request_resources: %w: bundle %d of %d: %v", ErrInvalid, i+1, len(list), err)
		}
	}
	return list, nil
}

func (d *Demand) check() error {
	if d.Count < 1 || d.Count > MaxDemandCount {
		return fmt.Errorf("it is wanted %d times, must be 1 to %d", d.Count, MaxDemandCount)
	}
	if n := len(d.Resources) + len(d.Labels); n > maxDemandNames {
		return fmt.Errorf("it has %d resources and labels, at most %d are allowed", n, maxDemandNames)
	}
	for name, n := range d.Resources {
		if name == "" || len(name) > maxDemandText || n < 0 {
			return fmt.Errorf("%.50q: %d units; a resource has a name of 1 to %d bytes and an amount of 0 or more", name, n, maxDemandText)
		}
	}
	for label, value := range d.Labels {
		if label == "" || len(label) > maxDemandText || len(value) > 8*maxDemandText {
			return fmt.Errorf("label %.50q: its name must have 1 to %d bytes, and its selector at most %d", label, maxDemandText, 8*maxDemandText)
		}
	}
	return nil
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/nodeprocess"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// startConfig turns the flags of start into the daemon's configuration.
func startConfig(flags map[string]string) (c nodeprocess.Config, err error) {
	if c.NumCPUs, err = numberOf(flags, "--num-cpus"); err != nil {
		return c, err
	}
	if c.NumGPUs, err = numberOf(flags, "--num-gpus"); err != nil {
		return c, err
	}
	if c.Memory, err = bytesOf(flags, "--memory"); err != nil {
		return c, err
	}
	if c.ObjectStoreMemory, err = bytesOf(flags, "--object-store-memory"); err != nil {
		return c, err
	}
	if c.NumGPUs != nil && *c.NumGPUs != math.Trunc(*c.NumGPUs) {
		return c, fmt.Errorf("--num-gpus: %q is not a whole number of devices", flags["--num-gpus"])
	}
	if c.GPUMemory, err = sizes(flags["--gpu-memory"]); err != nil {
		return c, fmt.Errorf("--gpu-memory: %w", err)
	}
	if text, given := flags["--resources"]; given {
		if c.Resources, err = customResources(text); err != nil {
			return c, fmt.Errorf("--resources: %w", err)
		}
	}
	if c.Labels, err = labelsOf(flags); err != nil {
		return c, err
	}
	if dir := flags["--object-spilling-directory"]; dir != "" {
		if c.Directory, err = filepath.Abs(dir); err != nil {
			return c, fmt.Errorf("--object-spilling-directory: %w", err)
		}
	}
	if text, given := flags["--system-config"]; given {
		if c.System, err = jsonObject(text); err != nil {
			return c, fmt.Errorf("--system-config: %w", err)
		}
	}
	if c.Infeasible, err = infeasibleOf(flags); err != nil {
		return c, err
	}
	c.NodeIP, c.NodeName = flags["--node-ip-address"], flags["--node-name"]
	return c, checkWorkerPorts(flags)
}

// number reads a number ≥ 0.
func number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, fmt.Errorf("%q is not a number ≥ 0", text)
	}
	return f, nil
}

// numberOf reads a flag that is a number; nil when it is not given.
func numberOf(flags map[string]string, name string) (*float64, error) {
	text, given := flags[name]
	if !given {
		return nil, nil
	}
	f, err := number(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &f, nil
}

// bytesOf reads a flag that is a number of bytes; nil when it is not given.
func bytesOf(flags map[string]string, name string) (*uint64, error) {
	f, err := numberOf(flags, name)
	if f == nil || err != nil {
		return nil, err
	}
	if *f > float64(resource.MaxBytes) {
		return nil, fmt.Errorf("%s: %s is too large: at most %s", name, flags[name], resource.FormatBytes(resource.MaxBytes))
	}
	n := uint64(*f)
	return &n, nil
}

// sizes reads a list such as 16GiB,24GiB.
func sizes(text string) (bytes []int64, err error) {
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		n, err := resource.ParseBytes(part)
		if err != nil {
			return nil, err
		}
		bytes = append(bytes, n)
	}
	return bytes, nil
}

// jsonObject reads a JSON object.
func jsonObject(text string) (object map[string]any, err error) {
	err = json.Unmarshal([]byte(text), &object)
	if err == nil && object == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, fmt.Errorf(`%q is not a JSON object: %w`, text, err)
	}
	return object, nil
}

// maxResourceName bounds the name of a resource, as in init().
const maxResourceName = 64 << 10 // bytes

// customResources reads the JSON object of --resources.
func customResources(text string) (map[string]float64, error) {
	object, err := jsonObject(text)
	if err != nil {
		return nil, fmt.Errorf(`%w; what is expected looks like '{"name": 4}'`, err)
	}
	amounts := make(map[string]float64)
	for _, name := range sortedKeys(object) {
		switch name {
		case "":
			return nil, errors.New("a resource has no name")
		case "CPU", "GPU":
			return nil, fmt.Errorf("%s is given with --num-%ss", name, strings.ToLower(name))
		case "memory", "object_store_memory", resource.GPUMemory:
			return nil, fmt.Errorf("%s is given with --%s", name, strings.ReplaceAll(name, "_", "-"))
		}
		n, ok := object[name].(float64)
		switch {
		case len(name) > maxResourceName:
			return nil, fmt.Errorf("the name of a resource has %d bytes, at most %d are allowed; it begins with %.60q", len(name), maxResourceName, name)
		case !ok:
			said, _ := json.Marshal(object[name])
			return nil, fmt.Errorf("%s is %s, must be a number", name, said)
		case n < 0:
			return nil, fmt.Errorf("%s is negative", name)
		case accelerator.IsAccelerator(name) && n != math.Trunc(n):
			return nil, fmt.Errorf("%s is %v, must be a whole number of devices", name, n)
		}
		amounts[name] = n
	}
	return amounts, nil
}

// infeasibleVar says the same as --infeasible, to init() too.
const infeasibleVar = "EAGLERAY_INFEASIBLE"

// infeasibleOf returns what the flag says, else what the variable says.
func infeasibleOf(flags map[string]string) (string, error) {
	if what, given := flags["--infeasible"]; given {
		return what, nil
	}
	what := os.Getenv(infeasibleVar)
	if what == "" {
		return "", nil
	}
	if err := oneOf("raise", "wait")(what); err != nil {
		return "", fmt.Errorf("%s: %w", infeasibleVar, err)
	}
	return what, nil
}

// checkWorkerPorts checks a range without an effect, so that a wrong one is noticed here as under Ray.
func checkWorkerPorts(flags map[string]string) error {
	low, err := strconv.Atoi(flags["--min-worker-port"])
	if err != nil {
		return nil // not given
	}
	high, err := strconv.Atoi(flags["--max-worker-port"])
	if err == nil && high < low {
		return fmt.Errorf("--max-worker-port: %d is less than --min-worker-port, which is %d", high, low)
	}
	return nil
}

// unusedSettings returns the settings of --system-config that have no effect here, as a reason that ends the list of
// flags without one.
func unusedSettings(c *nodeprocess.Config) []reason {
	known := append([]string{headprocess.TimeoutSetting, headprocess.ExclusiveSetting}, nodeprocess.SpillSettings...)
	var table []option
	for _, name := range sortedKeys(c.System) {
		why := "of the settings of --system-config those of spilling, node_timeout and exclusive_actors have an effect" + meant(name, known)
		table = append(table, option{name: strconv.Quote(name), unused: why})
	}
	return byReason(table, func(o *option) bool {
		name, _ := strconv.Unquote(o.name)
		return !slices.Contains(known, name)
	})
}

package nodeprocess

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eagleray/eagleray/core/internal/objects"
)

// SpillSettings are the settings that are read, of _system_config or of the environment.
var SpillSettings = []string{
	"automatic_object_spilling_enabled", "local_fs_capacity_threshold", "max_io_workers", "min_spilling_size", "object_spilling_cache",
	"object_spilling_config", "object_spilling_directory", "object_spilling_threshold", "oom_grace_period_s",
}

// spillConfig is what a daemon is told about objects that its store has no room
// for. What is absent comes from the environment, under Ray's names.
type spillConfig struct {
	Directory string         `json:"object_spilling_directory,omitempty"`
	System    map[string]any `json:"system_config,omitempty"` // as in Ray's _system_config
}

// external is Ray's object_spilling_config.
type external struct {
	Type   string `json:"type"`
	Params struct {
		Path       json.RawMessage `json:"directory_path"`
		BufferSize *int            `json:"buffer_size"` // of Ray's writer: no meaning here
	} `json:"params"`
}

// setting is one of Ray's settings: from _system_config, or the environment.
func (c *spillConfig) setting(name string) (value any, where string) {
	if v, ok := c.System[name]; ok && v != nil && v != "" {
		return v, "_system_config[" + strconv.Quote(name) + "]"
	}
	for _, prefix := range []string{"EAGLERAY_", "RAY_"} {
		if v := os.Getenv(prefix + name); v != "" {
			return v, prefix + name
		}
	}
	return nil, ""
}

// number returns a setting that is a number, and whether it is there.
func (c *spillConfig) number(name string, low, high float64) (f float64, given bool, err error) {
	v, where := c.setting(name)
	switch x := v.(type) {
	case nil:
		return 0, false, nil
	case float64:
		f = x
	case string:
		if f, err = strconv.ParseFloat(x, 64); err != nil {
			return 0, false, fmt.Errorf("%s is %q, must be a number", where, x)
		}
	default:
		return 0, false, fmt.Errorf("%s is %v, must be a number", where, v)
	}
	if !(f >= low && f <= high) {
		return 0, false, fmt.Errorf("%s is %v, must be at least %v and at most %v", where, f, low, high)
	}
	return f, true, nil
}

// least stands for a share of 0: in the options that means the default.
const least = 1e-12

// options reads all of it.
func (c *spillConfig) options() (o objects.SpillOptions, err error) {
	if v, where := c.setting("automatic_object_spilling_enabled"); v != nil {
		on, err := strconv.ParseBool(fmt.Sprint(v))
		if err != nil {
			return o, fmt.Errorf("%s is %v, must be true or false", where, v)
		}
		o.Off = !on
	}
	if o.Roots, err = c.directories(); err != nil {
		return o, err
	}
	for _, dir := range o.Roots {
		if !filepath.IsAbs(dir) {
			return o, fmt.Errorf("objects cannot be spilled to %q: the path must be absolute", dir)
		}
	}
	set := func(name string, low, high float64, to func(float64)) {
		if err == nil {
			f, given, problem := c.number(name, low, high)
			if err = problem; given {
				to(f)
			}
		}
	}
	set("object_spilling_threshold", 0, 1, func(f float64) { o.Threshold = max(f, least) })
	set("local_fs_capacity_threshold", 0, 1, func(f float64) { o.Full = max(f, least) })
	set("object_spilling_cache", 0, 1, func(f float64) { o.Cache = max(f, least) }) // ours: Ray has no such setting
	set("min_spilling_size", 0, 1<<50, func(f float64) { o.MinBytes = uint64(max(f, 1)) })
	set("max_io_workers", 0, 1024, func(f float64) { o.Readers = int(max(f, 1)) })
	set("oom_grace_period_s", 0, 1e6, func(f float64) { o.Grace = max(time.Duration(f*float64(time.Second)), 1) })
	return o, err
}

// directories are those that were asked for, none for the session's own. As in
// Ray a directory counts more than a configuration.
func (c *spillConfig) directories() ([]string, error) {
	if c.Directory != "" {
		return []string{c.Directory}, nil
	}
	if v, where := c.setting("object_spilling_directory"); v != nil {
		dir, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%s is %v, must be a path", where, v)
		}
		return []string{dir}, nil
	}
	v, where := c.setting("object_spilling_config")
	if v == nil {
		return nil, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("%s must be JSON text, not %T", where, v)
	}
	var e external
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return nil, fmt.Errorf(`%s is not what is expected, as in {"type": "filesystem", "params": {"directory_path": "/path"}}: %w`, where, err)
	}
	if e.Type != "filesystem" {
		return nil, fmt.Errorf("%s: objects are spilled to directories only (type \"filesystem\"), not to %q", where, e.Type)
	}
	var dirs []string
	var one string
	if json.Unmarshal(e.Params.Path, &one) == nil && one != "" {
		return []string{one}, nil
	}
	if err := json.Unmarshal(e.Params.Path, &dirs); err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%s: directory_path must be a path or a list of paths", where)
	}
	return dirs, nil
}

package main

import (
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/daemon"
	"github.com/eagleray/eagleray/core/resource"
)

// devices stands in until core/accelerator is there.
func (c *config) devices() (daemon.Devices, resource.Set, error) {
	n := 0
	if c.NumGPUs != nil {
		n = int(*c.NumGPUs)
	}
	return gpus(n), nil, nil
}

type gpus int

func (g gpus) Devices() map[string][]string {
	if g == 0 {
		return nil
	}
	var ids []string
	for i := range int(g) {
		ids = append(ids, strconv.Itoa(i))
	}
	return map[string][]string{"GPU": ids}
}
func (g gpus) Env(d map[string][]string) map[string]string {
	if len(d["GPU"]) == 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(d["GPU"], ",")}
}
func (g gpus) ZeroEnv(d map[string][]string) map[string]string {
	if g == 0 || len(d["GPU"]) > 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": ""}
}
func (g gpus) IntIDs() bool { return true }

package resource

import (
	"strings"
	"testing"
)

func TestShortage_WhatIsMissing_NearestThingIsNamed(t *testing.T) {
	node := Set{CPU: FromInt(4), "memory": FromInt(1 << 30), "node:10.0.0.1": Unit, "GPU": FromInt(2), "slot": FromInt(3),
		"accelerator_type:A100": Unit, "accelerator_type:AMD-Instinct-MI300X-OAM": Unit}
	for _, c := range []struct {
		need Set
		have Set
		want string
	}{
		{Set{"GPU": FromInt(2), "accelerator_type:A100": 10, "slot": 0}, node, ""},
		{Set{"GPU": FromInt(4)}, node, "GPU: asked 4, the cluster has at most 2"},
		{Set{"TPU": FromInt(1)}, node, "TPU: asked 1, the cluster has none (it has GPU: 2, slot: 3)"},
		{Set{"gpu": FromInt(1)}, node, `gpu: asked 1, the cluster has none (did you mean "GPU"?)`},
		{Set{"slots": FromInt(1)}, node, `slots: asked 1, the cluster has none (did you mean "slot"?)`},
		{Set{"GPUs": FromInt(1)}, node, `GPUs: asked 1, the cluster has none (did you mean "GPU"?)`},
		{Set{"accelerator_type:V100": 10}, node, "accelerator type V100: the cluster has none (it has A100, AMD-Instinct-MI300X-OAM)"},
		{Set{"accelerator_type:A-100": 10}, node, `accelerator type A-100: the cluster has none (did you mean "A100"?)`},
		{Set{"accelerator_type:a100": 10}, node, `accelerator type a100: the cluster has none (did you mean "A100"?)`},
		{Set{"accelerator_type:NVIDIA_A100": 10}, node, `accelerator type NVIDIA_A100: the cluster has none (did you mean "A100"?)`},
		{Set{"accelerator_type:A100-40G": 10}, node, `accelerator type A100-40G: the cluster has none (did you mean "A100"?)`},
		{Set{"accelerator_type:AMD-Instict-MI300X-OAM": 10}, node, `accelerator type AMD-Instict-MI300X-OAM: the cluster has none (did you mean "AMD-Instinct-MI300X-OAM"?)`},
		{Set{"accelerator_type:A10": 10}, node, "accelerator type A10: the cluster has none (it has A100, AMD-Instinct-MI300X-OAM)"},
		{Set{"accelerator_type:T4": 10, "GPU": FromInt(3)}, node,
			"GPU: asked 3, the cluster has at most 2; accelerator type T4: the cluster has none (it has A100, AMD-Instinct-MI300X-OAM)"},
		{Set{"GPU": FromInt(1)}, Set{CPU: FromInt(2), "neuron_cores": FromInt(2)}, "GPU: asked 1, the cluster has none (it has neuron_cores: 2)"},
		{Set{"neuron_core": FromInt(1)}, Set{"neuron_cores": FromInt(2)}, `neuron_core: asked 1, the cluster has none (did you mean "neuron_cores"?)`},
		{Set{"GPU": FromInt(1)}, Set{CPU: FromInt(2), "GPU": 0}, "GPU: asked 1, the cluster has none"},
		{Set{CPU: FromInt(1)}, Set{"GPU": FromInt(2)}, "CPU: asked 1, the cluster has none"},
		{Set{"accelerator_type:T4": 10}, Set{"GPU": FromInt(1)},
			`accelerator type T4: the cluster has none, and of no accelerator it knows the type; a node declares it with resources={"accelerator_type:T4": 1}`},
		{Set{"": FromInt(1), "accelerator_type:": 10}, node,
			": asked 1, the cluster has none (it has GPU: 2, slot: 3); accelerator type : the cluster has none (it has A100, AMD-Instinct-MI300X-OAM)"},
	} {
		if got := Shortage(c.need, c.have); got != c.want {
			t.Errorf("Shortage(%s):\n got %s\nwant %s", c.need, got, c.want)
		}
	}
}

func TestShortage_ManyResources_ListIsCut(t *testing.T) {
	have := Set{}
	for _, c := range "abcdefghijklmnop" {
		have[strings.Repeat(string(c), 9)] = Unit
	}
	if got := Shortage(Set{"x": Unit}, have); strings.Count(got, ": 1") != maxListed || !strings.HasSuffix(got, ", …)") {
		t.Error(got)
	}
}

package resource

import (
	"math/rand/v2"
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

// What is short is named, however little is missing, and nothing else is.
func TestShortage_RandomSets_NamesWhatDoesNotFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	amounts := []Amount{0, 1, 2, 3, Unit, 2 * Unit}
	random := func() Set {
		s := Set{}
		for _, name := range []string{CPU, GPU, "x", TypePrefix + "T4"} {
			if rng.IntN(3) > 0 {
				s[name] = amounts[rng.IntN(len(amounts))]
			}
		}
		return s
	}
	for range 2000 {
		need, totals := random(), random()
		text := Shortage(need, totals)
		if (text == "") != need.Fits(totals) {
			t.Fatalf("of %s in %s: %q", need, totals, text)
		}
		parts := 0
		for name, asked := range need {
			told := strings.Contains("; "+text, "; "+strings.Replace(name, TypePrefix, "accelerator type ", 1)+": ") ||
				strings.Contains("; "+text, "; "+name+": asked")
			if short := asked > totals[name]; short != told {
				t.Fatalf("of %s in %s: %s is short: %v, in %q", need, totals, name, short, text)
			} else if short {
				parts++
			}
		}
		if parts > 0 && strings.Count(text, "the cluster has") != parts {
			t.Fatalf("of %s in %s: %q", need, totals, text)
		}
	}
}

// What a node has little of is offered; what it has none of, or what all nodes have, is not.
func TestShortage_NearestThing_IsThere(t *testing.T) {
	for _, c := range []struct {
		need, have Set
		want       string
	}{
		{Set{TypePrefix + "T4": 10}, Set{TypePrefix + "A100": 1, TypePrefix + "H100": 0, "x": Unit}, "(it has A100)"},
		{Set{"slot": Unit}, Set{"x": 1, "y": 0, TypePrefix + "A100": 1, GPUMemory: Unit, "object_store_memory": 1}, "(it has x: 0.0001)"},
		{Set{"memory": Unit}, Set{"x": 1}, "memory: asked 1, the cluster has none"},
		{Set{GPUMemory: Unit}, Set{"x": 1}, "gpu_memory: asked 1, the cluster has none"},
		{Set{"node:a": Unit}, Set{"x": 1}, "node:a: asked 1, the cluster has none"},
	} {
		if got := Shortage(c.need, c.have); !strings.HasSuffix(got, c.want) {
			t.Errorf("Shortage(%s) = %q, want …%s", c.need, got, c.want)
		}
	}
}

// One letter in five may be wrong.
func TestAlike_FewWrongLetters(t *testing.T) {
	for _, c := range []struct {
		asked, name string
		want        bool
	}{
		{"abcde", "abcdX", true}, {"abcd", "abcX", false}, {"abcdefghij", "abcdefghXY", true}, {"abcdefghi", "abcdefgXY", false},
		{"abcde1", "abcdX1", true}, {"abcde1", "abcde2", false}, {"a b", "x a b", true}, {"x a b", "a b", true}, {"a c", "a b c", false},
		{"a b", "a b x", true}, {"b", "a b c", true}, {"...", "x", false}, {"x", "...", false},
	} {
		if got := alike(c.asked, []string{"zzzzzzzzz", c.name}) == c.name; got != c.want {
			t.Errorf("%q is probably %q: %v, want %v", c.asked, c.name, got, c.want)
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
	for name := range have {
		if len(have) > maxListed {
			delete(have, name)
		}
	}
	if got := Shortage(Set{"x": Unit}, have); strings.Count(got, ": 1") != maxListed || strings.Contains(got, "…") {
		t.Error(got)
	}
}

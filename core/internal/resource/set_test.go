package resource

import (
	"errors"
	"strings"
	"testing"
)

func TestSet_String_SortedWithoutZeros(t *testing.T) {
	s := Set{"GPU": 5000, "CPU": 10000, "none": 0, `a"b`: 1}
	if got, want := s.String(), `{"CPU": 1, "GPU": 0.5, "a\"b": 0.0001}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Set{}).String(); got != "{}" {
		t.Errorf("empty: %s", got)
	}
}

func TestSet_Arithmetic_InPlaceAndEqualUpToZeros(t *testing.T) {
	s := Set{"CPU": 10000, "a": 5000}
	c := s.Clone()
	c.Add(Set{"a": 5000, "b": 1})
	c.Sub(Set{"CPU": 10000, "b": 1})
	if !c.Equal(Set{"a": 10000}) || (Set{"a": 10000}).Equal(Set{"a": 9999}) || (Set{}).Equal(Set{"a": 1}) {
		t.Errorf("got %s", c)
	}
	if len(c.Trim()) != 1 || c.IsZero() || !(Set{"a": 0}).IsZero() {
		t.Errorf("after Trim: %v", c)
	}
	if !s.Equal(Set{"CPU": 10000, "a": 5000}) {
		t.Errorf("Clone shares memory: %s", s)
	}
	if !FromWire(s.Wire()).Equal(s) {
		t.Error("the wire changes the set")
	}
	if s.Key() == c.Key() || (Set{"a": 1, "b": 0}).Key() != (Set{"a": 1}).Key() {
		t.Error("keys do not follow equality")
	}
}

func TestSet_Fits_ZeroOfAnOverdrawnResource(t *testing.T) {
	have := Set{"CPU": -10000, "GPU": 10000}
	if !(Set{"CPU": 0, "GPU": 10000}).Fits(have) {
		t.Error("zero CPU must fit a negative balance")
	}
	if (Set{"CPU": 1}).Fits(have) || (Set{"x": 1}).Fits(have) {
		t.Error("fits although it is not there")
	}
}

func TestFromFloats_BadQuantity_ErrorNamesResource(t *testing.T) {
	_, err := FromFloats(map[string]float64{"CPU": 1, "GPU": -0.5})
	if !errors.Is(err, ErrNegative) || !strings.Contains(err.Error(), "GPU") || !strings.Contains(err.Error(), "-0.5") {
		t.Errorf("got %v", err)
	}
	s, err := FromFloats(map[string]float64{"CPU": 1, "GPU": 0.5})
	if err != nil || s.String() != `{"CPU": 1, "GPU": 0.5}` {
		t.Errorf("got %s, %v", s, err)
	}
}

func TestShortage_SeveralShort_AllNamedInOrder(t *testing.T) {
	totals := Set{"CPU": FromInt(2), "GPU": FromInt(1)}
	got := Shortage(Set{"TPU": FromInt(4), "GPU": FromInt(2), "CPU": FromInt(1)}, totals)
	if want := "GPU: asked 2, the cluster has at most 1; TPU: asked 4, the cluster has none (it has GPU: 1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Shortage(Set{"CPU": FromInt(2), "zero": 0}, totals); got != "" {
		t.Errorf("fits, but %q", got)
	}
}

package raftstate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/record"
)

// While a head of an older build votes, the log has only what that head knows. Fresh reads work all the same.
func TestLevel_AHeadIsOlder_NewCommandsAreRefused(t *testing.T) {
	lowest := 1
	n, err := Open(Options{ID: "a", Lowest: func(int) int { return lowest }})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	ctx := testContext(t)
	write := Command{Body: &KeyWrite{Write: record.KeyWrite{Key: "k", Value: []byte("v")}}}
	if _, err := n.Apply(ctx, write); !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), "replace that head first") {
		t.Errorf("a command that an older head does not know: %v", err)
	}
	if err := n.PutSetting(ctx, "x", []byte("y")); err != nil {
		t.Errorf("a command that all know: %v", err)
	}
	before := n.Settings()
	if kind := n.markFor().kind(); kind != KindSettingDel {
		t.Errorf("a fresh read commits a command of kind %d, which an older head does not know", kind)
	}
	if err := n.commitMark(); err != nil || !reflect.DeepEqual(n.Settings(), before) {
		t.Errorf("a fresh read: %v; the settings are %q", err, n.Settings())
	}
	lowest = Level
	if _, err := n.Apply(ctx, write); err != nil {
		t.Errorf("all heads know it now: %v", err)
	}
	if kind := n.markFor().kind(); kind != KindMark {
		t.Errorf("a fresh read commits a command of kind %d", kind)
	}
}

// Each kind has the level that first knew it: a new kind must be named in levelOf, Level raised, and the kind added here.
func TestLevel_KindsOfEachLevel_AreTheseForEver(t *testing.T) {
	levels := map[int]string{
		1: "1 2 3 10 11 20 21 22 23 24 25 26 27 40 41 50 51",
		2: "60 61 62 63 70",
		3: "28 29 42",
	}
	got := map[int]string{}
	for k := Kind(0); k < 1<<12; k++ {
		if newBody(k) != nil {
			got[levelOf(k)] = strings.TrimSpace(fmt.Sprintf("%s %d", got[levelOf(k)], k))
		}
	}
	if !reflect.DeepEqual(got, levels) || len(levels) != Level {
		t.Errorf("the kinds by level are %v, want %v, and Level is %d", got, levels, Level)
	}
}

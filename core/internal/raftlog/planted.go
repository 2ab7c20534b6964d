//go:build planted

package raftlog

import (
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/raftstate"
)

// raftstate is no part of core/internal, so its bugs are switched on from here.
func init() { raftstate.Plant = func(bug string) bool { return planted.Strikes(planted.Bug(bug)) } }

// Package system tests the daemon's binary with real processes: drivers that
// speak core/wire, and a zygote with workers played by the test binary itself,
// so that no Python is needed.
package system

// Package system tests the program eagleray and the Go API with real processes: drivers that
// speak core/internal/wire, and a zygote with workers played by the test binary itself, so
// that most of it needs no Python.
package system

// Package play lets tests of the daemon run without Python. It simulates the
// processes around a daemon: the zygote that forks workers, the workers, and
// drivers that speak core/internal/wire.
//
// The test binary plays zygotes and workers itself: a test's environment names
// the binary as its Python interpreter, and TestMain begins with Roles, which
// notices that the process was started as one of them.
//
// Start makes a session in the test's own process, with a daemon, a head and
// its state. Connect and Join reach any daemon by the folder of its session,
// so tests of the installed binary use the same drivers.
package play

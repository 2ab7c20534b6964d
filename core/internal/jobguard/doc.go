// Package jobguard runs the entrypoint of a submitted job and lets nothing of it live on.
//
// The guard is a process between a job's supervisor, which is an actor, and the entrypoint, which is a shell command. It starts the
// command in a process session of its own, with the input closed, and copies what the command and its children write into the job's
// log. A disk that is full costs lines of the log and does not end the job: the guard counts what it could not write, and says so in
// the log when there is room again.
//
// The guard ends the job when its input says so or ends. It ends, too, when the supervisor is killed. All processes of the job then get
// the signal of Options.Stop, and those that live after Options.Grace get SIGKILL. What the command has left behind when it ends by itself
// is ended in the same way. The guard is the child subreaper of the job, so a process cannot leave the job by a fork or a new session.
// If the guard is killed, the kernel kills the shell, and the daemon kills the rest with the supervisor.
//
// # Goroutines
//
// Run waits for children in its own goroutine, which keeps its thread (PDEATHSIG). One goroutine reads the input, one copies the output,
// and one sends signals. There are no locks: they speak through channels. The files: run.go, and output.go for the log.
package jobguard

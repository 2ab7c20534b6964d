// Package machine says how many CPUs and how much memory this process may
// use: what the machine has, cut to the scheduler affinity and to the cgroup
// limits (version 1 and 2) of the process and of every group above it.
//
// It reads /proc and /sys only, at each call; a value that cannot be read does
// not limit. TrimCode makes this process smaller while it is idle.
package machine

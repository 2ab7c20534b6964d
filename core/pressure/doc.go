// Package pressure decides when a node runs out of memory and which worker is
// ended then, before the kernel ends one of its own choice.
//
// Options say when: from the environment. Tightest looks at the machine and
// the cgroups, Pick chooses, Report is what the owner of the ended task is
// told. Nothing here has state or ends anything: the daemon does.
package pressure

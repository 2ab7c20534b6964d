// Package ids holds the identifiers of jobs, nodes, workers, actors, tasks and
// objects, in the sizes that Ray's users see in hex.
//
// An object id says who owns it: bytes 0–7 count objects of the owner, 8–19
// are the owner's id, 20–23 the job, 24–27 the index among a task's returns
// (0 for put). A task's id is the first 24 bytes of its first return's id.
//
// An owner's id says on which node its process is: bytes 0–3 are the node's number, which
// is for routing only. A user sees the node's id, which is longer.
package ids

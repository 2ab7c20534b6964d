// Package actorclass gives the cluster's state the classes of actors, and fetches them from there.
//
// The pickled class of an actor travels in the actor's record. A class that is too
// large for that is an object, which ends with the process that owns it. A
// detached actor lives on, and may start or restart afterwards. So its creator
// first gives the cluster's state a copy of the object (Give), and the worker that
// starts the actor fetches the class from there (Fetch).
//
// A class travels in parts of a few megabytes. The state says how many bytes it has, so a
// process continues where another process has stopped, and no part is sent twice. Answers of
// the state are checked: a part that does not fit ends Give or Fetch with an error.
//
// The package keeps nothing. It asks through Daemon and Creator, which wait for the
// answers, so the session's mutex is not held.
package actorclass

// Package promise is the page on which a daemon writes until when the cluster counts on its node. Workers of exclusive actors read it before
// they begin a call.
//
// A head promises with each acknowledged heartbeat that nothing of the node is started elsewhere for a while (package alive). The daemon
// writes the end of that time to the page (Page.Extend). A worker maps the page for reading (View) and looks at it itself, with the
// clock of the machine. So it also stops to begin calls when its daemon hangs or is stopped, and after it was stopped itself.
//
// Times are boot times (CLOCK_BOOTTIME) of the machine: nobody can set this clock, and it goes on while the machine is suspended.
//
// The kernel refuses to map the page for writing, or to write to it, for everybody but its daemon (F_SEAL_FUTURE_WRITE): a wild pointer in
// a worker cannot extend the promise. A child that a worker forks has no mapping.
//
// The package imports nothing of ours and starts no goroutine. Extend, Revoke, Until and Valid may be called at any time; Close may not be
// called beside them.
package promise

// Package actorends tells processes what became of an actor's incarnation to which they have lost the connection: whether it lives on, is
// dead or restarts, and which of their calls had begun.
//
// That an incarnation has ended is known from the head. Which calls had begun is known where it has run: its worker notes that
// on a page (package progress), which the daemon of that node reads when the process is gone. Incarnations keeps these pages and what was
// read from them; Ends answers the processes of this node, and asks other nodes. If the node is gone or does not know, all calls count
// as begun.
//
// A process may ask when its connection broke although the incarnation lives. If the head does not say within DeathWait that
// the incarnation has ended, its node is asked whether it takes calls.
//
// # Locks and goroutines
//
// The lock of Incarnations guards its table, and that of a Question its state. The daemon's lock may be held when methods of Incarnations
// are called; nothing is called with a lock of this package held. Answers are given on the goroutines of the head's answers, of timers, and of
// connections with other nodes.
package actorends

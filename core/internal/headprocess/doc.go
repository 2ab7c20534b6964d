// Package headprocess is the process of a cluster's head. It joins the role (package head) with the state that it replicates
// (raftstate), the folder of this state (raftlog), and the connections of the nodes (link, headlink, join). They know each other as
// interfaces only.
//
// Run opens them in this order and closes them in the opposite one: the listeners, the folder, the state, who the cluster is, the
// head, and the links. A head that finds the state of a former run goes on with that cluster, and declares those of its nodes dead
// that do not come back (formerRun). If there are other heads, it asks them first which keys the cluster has now (presentKeys).
//
// # Goroutines and locks
//
// A head has two goroutines that accept connections, from other machines and from its own, and three that follow the cluster's state:
// one tells the nodes what has changed, one closes the connections of dead nodes, one takes changes of keys. Another makes the steps in which the authority is replaced. One renews its certificate. One looks for the other heads, and for newer keys, while none leads (seeker). A former run has one more until its nodes are
// judged. The others belong to the packages that are joined here. Three small locks guard which head leads (office), the keys before the state
// is open (keyState), and heads that are not in the book yet (ranks). Nothing is waited for while one is held.
package headprocess

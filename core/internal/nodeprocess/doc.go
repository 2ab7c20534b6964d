// Package nodeprocess is the process of a node: a daemon, alone or as a member of a cluster.
//
// A daemon that is its whole cluster has the head and the state of the cluster in its process, and usually ends with the program that
// has started it. A member joins a cluster first: it gets a number and a certificate from the head, connects with the head and the
// other nodes, and serves processes of its machine when the cluster knows it. Config is what both are told, and its options become
// those of the daemon: what is absent is detected or comes from the environment.
//
// # Goroutines and locks
//
// A member has a goroutine that accepts connections of other nodes one that renews its certificate, and one that does so when a head wants it (keys.go). The others belong to the
// packages that are joined here. member.mu guards what the head has told of nodes; nothing is called with it held.
package nodeprocess

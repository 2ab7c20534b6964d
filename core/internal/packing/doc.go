// Package packing chooses the nodes for the bundles of a placement group: all of them or none.
//
// It is a pure function of what the nodes have free. It tries allocations in the nodes' ledgers, so it is exact in devices and their parts, and
// gives back whatever it has tried.
//
// PACK and SPREAD are wishes: the bundles go to as few or as many nodes as a greedy search finds, and when that search finds no room for one of them,
// a search with bounded effort looks for any way in which all fit. STRICT_PACK and STRICT_SPREAD are promises: all on one node, or each on a node of its
// own. For STRICT_SPREAD the search is a matching in a bipartite graph, so it finds a way whenever there is one.
package packing

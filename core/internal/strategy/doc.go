// Package strategy has the scheduling strategies of tasks and actors: what a program says about the node that they run
// on. A strategy travels as a text, in the messages of processes and nodes and in the records of actors:
//
//	""  "DEFAULT"        the head's choice
//	"SPREAD"             nodes in turn
//	"node:HEX"           the node with this id, or none
//	"node:HEX:fail"      the same, and the work fails when that node has no room
//	"node:HEX:soft"      the node with this id while it lives and is large enough, then any
//	"node:HEX:soft:spill"  the same, and any node when that node has no room
//	"group:HEX:2"        bundle 2 of the placement group with this id, -1 for any of its bundles; with ":capture" at its end
//	                     what runs there gives the group to the tasks and actors that it creates
//
// What is asked of the labels of the node comes behind: "SPREAD labels:[[{"zone":"a"}]]", in the form of labels.Preferences. The choice is then among the nodes that
// these allow, and those of the first alternative come first.
//
// Package place carries strategies out for the cluster, package sched for one node.
package strategy

// Package link connects the nodes of a cluster.
package link

// Package headgroup joins a head with the other heads of its cluster. Raft itself is hashicorp/raft behind package raftstate; this
// package brings its messages over links, says where each head is, and tells the nodes who leads.
//
// # Who the heads are
//
// Each head has two names: its number, as nodes have one, and the random name in its folder, which is Raft's. The cluster's state has a setting
// for each head with both and with its addresses (SettingOf). A head writes its own at each start, so a head may move: Raft knows
// names only, and every connection is dialed at the newest addresses. To write there, the head must be found by a majority first: so each head also says to the others where it is,
// at the beginning of each session, and that comes before what the state says (Book.Moved). What a head must know before it has read its state is in a file of its folder
// (File): who it is, the sealed keys of the cluster, and the heads as it saw them last. A head that begins has an older state at first, that of its last snapshot, so the
// file counts until a fresh read has shown that the state is whole (awaitWhole). Without that, heads that have joined or moved since the snapshot would not be found, and there might be no majority.
//
// The settings decide who belongs to the group. The head that leads makes Raft's members follow them (package headprocess has it
// call Group.Settle). A head that is being removed keeps its place in the book, and works on, until Raft does without it: its vote may be one of those that the removal needs.
//
// # What heads say to each other
//
// Raft's messages go over connections of their own (link.Link.Raft), proposals to the leader as calls on the control stream (Group.Forward).
// To the nodes each head pushes on their control stream who leads, at the beginning of a session and at each change (linkmsg.Heads).
//
// # A leader that is gone
//
// A follower notices a silent leader by Raft's heartbeats, after 0.5 to 1 s. When the leader's process ends, its connections end at once. A follower whose
// connection from the leader has ended dials it, and if the machine answers that nobody listens there, the follower stands for election without waiting. The
// followers do so one after the other, so that they do not split the votes; one that lacks the newest entries is not elected, and then the next one stands. This is for speed only: whoever is elected has a majority in any case.
//
// # A leader whose disk does not answer
//
// While a write of this head's log takes longer than two seconds, this head sends no heartbeats and no entries, and another head is elected (stall.go). When the disk
// answers again, this head follows, as after a pause of its process.
//
// # Goroutines and locks
//
// A Group has one goroutine that passes on Raft's messages, one that follows the settings, one that waits until the state is whole, one that tells nodes who leads, one that waits for the end of its own
// removal, and one for each connection of Raft, for each
// proposal of another head, and for each suspicion. Close ends them. Book.mu and Group.mu guard maps, and nothing is called with them held. Book.saving is held while the file is written, and Group.reading while the
// book is made as the state is; Book's locks are taken under it.
//
// # Files
//
//	group.go     the Group, and what it needs
//	file.go      what a head knows before it has read its state
//	book.go      which head is where
//	layer.go     Raft's connections
//	calls.go     Raft's calls, which are made again when a kept connection has ended
//	suspect.go   a leader that is gone
//	handover.go  a leader that ends in order
//	stall.go     a leader whose disk does not answer
//	contact.go   a head that can be reached again gets entries at once
//	forward.go   proposals
//	announce.go  who leads, for the nodes
//	settle.go    Raft's members follow the settings
//	votes.go     which of them has a vote
//	change.go    what administrators want, and heads that join
//	removal.go   a head that is removed works on until it is not needed
//	level.go     which commands all heads know
package headgroup

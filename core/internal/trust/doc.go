// Package trust is the part of a head that says who belongs to the cluster. It keeps the keyring (package pki) in the cluster's state, signs
// certificates, replaces the token and the authority while the cluster runs, and revokes members.
//
// # Replacing the token
//
// For a time two tokens count. AddToken brings the new one, over a connection on which the old one was proved. People copy it to the machines.
// Nodes need no token while they run: they renew their certificates over their connection with the head. With each renewal a node says which
// token its machine has, by a tag that tells it to nobody else, so that the head can say which machines have the old one. FinishToken ends the old one.
//
// # Replacing the authority
//
// It takes three steps, which the head makes by itself. First all members accept both authorities. When all living nodes have said that
// they do, the new one signs, and all get new certificates. When all have them, the old one is dropped, and each member closes its connections, which
// begin anew at once with the new certificates: sessions resume, so nothing is lost. A node that does not answer delays a step until
// it is dead, and another head that does not answer for 10 s. Each step is in the state, so the next head goes on. A head that has missed
// steps is not let in by the others any more, so it asks them for the keyring as a process that joins does (Offered).
//
// # Revoking
//
// A number that was revoked gets no certificate and no connection, from no member: all of them are told, and close those that they have. It
// is also declared dead. Its machine still knows the token, which is to be replaced, too. A head that was removed is revoked by the head that leads (RevokeHead).
//
// # Goroutines and locks
//
// Step wants a goroutine. Keeper.mu guards the keyring and what nodes have said; nothing is called with it held. changing admits one
// change at a time. A change begins with the keyring of the state, and is put by the leadership in which that was read (Options.Reign).
//
//	keeper.go   the keyring: opening it, changing it, what it decides
//	nodes.go    connections with nodes: renewals, news
//	admin.go    what people ask for
package trust

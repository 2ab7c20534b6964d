// Package pki decides who belongs to a cluster. It has the cluster's token, the authority
// that signs certificates, the keys and TLS configurations of a process, and the
// conversation in which a process joins.
//
// # Token
//
// A Token is the secret that all machines of a cluster share. ReadToken reads it from a file
// that no other user may read, ParseToken takes it from a text such as the value of a
// variable. A token knows where it came from, because messages name that place, and it never
// prints itself.
//
// # Joining
//
// A process that joins makes Keys, whose private key never leaves the process, and dials a
// head with JoinTLS. It does not know the cluster's authority yet, so TLS alone does not tell
// it who answers. Both ends therefore prove that they know the token (JoinClient, JoinServer):
//
//	joiner → head   hello   version, nonce
//	head → joiner   hello   version, nonce, one proof for each token of the head
//	joiner → head   ask     proof, certificate request, text of the caller's
//	head → joiner   answer  proof, certificate and authorities, or why it refuses
//
// A proof is an HMAC of everything said so far and of a value that TLS derives from this one
// handshake (RFC 9266 describes such bindings). Whoever stands between the two ends has two
// handshakes with two values, so a proof is worth nothing on another connection. The head
// proves itself first: the joiner says nothing about itself to a head that does not know the
// token. The proofs of the three messages have different labels, so none of them can be sent
// back as another one.
//
// Without TLS (Plain) the proofs bind the nonces only. Then the two ends know that both have
// the token when they begin. What is said later can be read and changed on the way.
//
// # Certificates
//
// The Authority signs certificates whose only name is an Identity: cluster, generation, role
// and number. A certificate begins two days before it is signed, because clocks differ, and is
// valid for 30 days. Keys.TLS is mutual, TLS 1.3 only, and accepts exactly the certificates of
// the cluster's authorities; there may be two while one replaces the other. A connection is
// checked when it begins. Sessions are never resumed, so each connection is checked anew.
//
// A Keyring has the tokens and the authorities that count, and the members that were revoked. Seal encrypts it under each of its tokens, so that
// the state of the heads can hold it. Its methods return the next keyring; package trust says when.
//
// # Bounds
//
// Before a process has proved something it may send strangerBytes in strangerTime, and Gate
// lets strangerCount such processes in at a time, which the addresses share evenly; lineOfOne of an address and lineOfAll of all wait.
// A frame before the proof has at most MaxFrame bytes. An address of which freeFailures connections have proved nothing is turned away, but for failureRate
// connections a second: each one costs a handshake. The table of addresses has mostAddresses.
//
// # Rules of the package
//
// The package opens no sockets and starts no goroutines, apart from a timer of Gate, which closes the connections whose places others get. It
// reads time.Now and crypto/rand. Gate.mu and failures.mu are its only locks, and nothing is called with one held.
// Keys.Install may be called while connections begin.
package pki

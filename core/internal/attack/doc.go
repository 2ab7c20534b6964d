// Command attack attacks the ports of a cluster, for the tests that show that nothing comes of it (tests/robust/attacks). It is no
// part of a release: no other package imports it, and the wheel does not contain it.
//
// Each run makes one attack of the table in main.go, for some seconds, on all ports that it is given:
//
//	attack -attack garbage -port head=127.0.0.1:6379 -port node=127.0.0.1:7001 -seconds 5
//
// It prints a report as JSON: what was done how often, and the breaches. A breach is an answer that a stranger must not get, a
// connection that stays open for too long, or a certificate that was accepted. The exit status is 1 when there is a breach. What an
// attack does inside of the processes (memory, crashes, code that runs) is seen by who starts this program.
//
// # Who attacks
//
// Some attacks know nothing. Some know the cluster's token (-token-file) and come as a node, with a certificate that a head has signed
// for it. Some also have a copy of the head's state (-state), in which the authority's key is: they sign certificates that are expired,
// or say another role, generation or cluster. So these attacks fail for the reason that they are about, and for no other one.
//
// # Files
//
//	main.go          the table of attacks, and what they are told
//	attacker.go      ports, connections, the report
//	payload.go       what strangers send
//	strangers.go     garbage, lengths that are too large, old versions of TLS, connections that say little or nothing
//	proofs.go        joins without the token, with another one, with recorded bytes
//	certificates.go  links with certificates that are wrong in one way each
//	member.go        a connection of a member, and what is sent on it
//	talk.go          a node's conversation with the head that leads
//	bulk.go          questions on bulk connections
//	frames.go        fuzzed frames and messages
//	bombs.go         pickles and shell commands in every field that has bytes or text, but for what a node may have the cluster run
//	http.go          requests of pages of other sites, under other names, without the token
//	kept.go          old tokens, certificates and folders, which a test tries when they must not count any more
//	roles.go         members that do what only others may do
//
// Each attack has up to eight goroutines, one for each of their sessions, three for each conversation with a head, and slowloris two for each connection. They end with the attack. attacker.mu guards the report.
package main

package linkmsg

import "github.com/eagleray/eagleray/core/internal/wire"

// The messages of a node and a head about certificates.
const (
	TRekey   wire.Type = 225 // push, head → node: Number: ask for a new certificate now, and say the number
	TRenew   wire.Type = 226 // call, node → head: Renew → Renewed
	TRevoked wire.Type = 227 // push, head → node: Revoked: all members that were revoked
	TRekeyed wire.Type = 228 // push, node → head: Number: the version of the keyring whose certificate and authorities the node uses now
)

// Renew asks for a new certificate for the node that the connection is with. It needs no token: the node has a certificate.
type Renew struct {
	Request []byte `msgpack:"request"` // pki.Keys.Request
	Asked   uint64 `msgpack:"asked"`   // the number of the last TRekey that came before the token was looked at; 0: none
	// Tag is pki.Token.Tag over TagText, with the token that the node's machine has now; empty: it has none that can be read.
	Tag []byte `msgpack:"tag"`
}

// Renewed is the answer.
type Renewed struct {
	Cert        []byte   `msgpack:"cert"`
	Authorities [][]byte `msgpack:"authorities"`
	Version     uint64   `msgpack:"version"` // of the keyring
}

// Revoked are the members whose certificates do not count any more.
type Revoked struct {
	Numbers []uint32 `msgpack:"numbers"`
}

// MaxRevoked bounds Revoked.
const MaxRevoked = 1024

// TagText is what a node says with a tag: its identity, which the head takes from the certificate.
func TagText(identity string) string { return "token of " + identity }

// FindText is what somebody says with the tag of a token when he asks whether it is one of the cluster's.
const FindText = "is this token one of the cluster's?"

// AdminOp is what somebody wants who looks after a cluster and knows its token.
type AdminOp string

// What can be asked.
const (
	AdminStatus          AdminOp = "status"           // nothing is changed
	AdminAddToken        AdminOp = "add_token"        // Token counts, too, from now on
	AdminFindToken       AdminOp = "find_token"       // which of the tokens has made Tag; nothing is changed
	AdminWithdrawToken   AdminOp = "withdraw_token"   // the token that was to replace the one that this was proved with does not count any more
	AdminFinishToken     AdminOp = "finish_token"     // only the token that this was proved with counts from now on
	AdminRotateAuthority AdminOp = "rotate_authority" // another authority takes the place of the present one
	AdminRevoke          AdminOp = "revoke"           // Node is no member any more
)

// Admin is the part of a Join that is such a request.
type Admin struct {
	Op    AdminOp `msgpack:"op"`
	Token string  `msgpack:"token"` // AdminAddToken: pki.Token.Text
	From  string  `msgpack:"from"`  // AdminAddToken: where it is kept, for messages
	Node  string  `msgpack:"node"`  // AdminRevoke: a number, a name, or the beginning of an id
	Force bool    `msgpack:"force"` // AdminFinishToken, AdminWithdrawToken: also when nodes have the one that ends

	Tag []byte `msgpack:"tag,omitempty"` // AdminFindToken: pki.Token.Tag over FindText
}

// AdminAnswer is the head's answer: how things are afterwards.
type AdminAnswer struct {
	Tokens      []string    `msgpack:"tokens"`               // where each was kept when it was given to a head, the oldest first
	Proved      int         `msgpack:"proved"`               // which of them this was proved with, from 1
	HeadHas     int         `msgpack:"head_has"`             // which of them the head's machine has now; 0: none that can be read
	Authorities []string    `msgpack:"authorities"`          // names, the oldest first
	Signing     int         `msgpack:"signing"`              // which of them signs, from 0
	Nodes       []AdminNode `msgpack:"nodes"`                // those that are alive
	HeadsWait   []uint32    `msgpack:"heads_wait,omitempty"` // heads that the replacement of the authority waits for
	Revoked     []uint32    `msgpack:"revoked"`
	Node        string      `msgpack:"node"` // AdminRevoke: who was revoked

	Found int `msgpack:"found,omitempty"` // AdminFindToken: which of Tokens it is, from 1; 0: none of them
}

// AdminNode is a node that is alive.
type AdminNode struct {
	Number  uint32 `msgpack:"number"`
	Name    string `msgpack:"name"`
	Address string `msgpack:"address"`
	Token   int    `msgpack:"token"`   // which token its machine has, from 1; 0: none of the cluster's
	Heard   bool   `msgpack:"heard"`   // it has said which
	Current bool   `msgpack:"current"` // it has the present authorities
}

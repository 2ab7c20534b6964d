package pki

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Role is what a process is in the cluster.
type Role string

// The roles.
const (
	RoleHead    Role = "head"
	RoleNode    Role = "node"
	RoleGateway Role = "gateway"
)

// Cluster is the random name of a cluster.
type Cluster [16]byte

// NewCluster makes the name of a new cluster.
func NewCluster() (c Cluster) {
	_, _ = rand.Read(c[:])
	return c
}

// String returns the name in hexadecimal digits.
func (c Cluster) String() string { return hex.EncodeToString(c[:]) }

// Identity is what a certificate says of its process.
type Identity struct {
	Cluster    Cluster
	Generation uint32 // of the heads; a recovery raises it
	Role       Role
	Number     uint32 // the heads give it, and never twice
}

// String returns the identity as in certificates: eagleray://CLUSTER/GENERATION/ROLE/NUMBER.
func (id Identity) String() string {
	return fmt.Sprintf("%s://%s/%d/%s/%d", scheme, id.Cluster, id.Generation, id.Role, id.Number)
}

// scheme is that of the identities in certificates.
const scheme = "eagleray"

// ErrBadIdentity is the error of a name that is no identity.
var ErrBadIdentity = errors.New("not an identity of a cluster")

// ParseIdentity reads what Identity.String returns.
func ParseIdentity(text string) (id Identity, err error) {
	bad := fmt.Errorf("%w: %.200q", ErrBadIdentity, text)
	rest, ok := strings.CutPrefix(text, scheme+"://")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 4 || len(parts[0]) != hex.EncodedLen(len(id.Cluster)) {
		return Identity{}, bad
	}
	if _, err := hex.Decode(id.Cluster[:], []byte(parts[0])); err != nil {
		return Identity{}, bad
	}
	generation, err1 := strconv.ParseUint(parts[1], 10, 32)
	number, err2 := strconv.ParseUint(parts[3], 10, 32)
	if err1 != nil || err2 != nil {
		return Identity{}, bad
	}
	id.Generation, id.Role, id.Number = uint32(generation), Role(parts[2]), uint32(number)
	if !id.valid() || id.String() != text { // one spelling only
		return Identity{}, bad
	}
	return id, nil
}

func (id Identity) valid() bool {
	return id.Role == RoleHead || id.Role == RoleNode || id.Role == RoleGateway
}

func (id Identity) url() *url.URL {
	return &url.URL{Scheme: scheme, Host: id.Cluster.String(), Path: fmt.Sprintf("/%d/%s/%d", id.Generation, id.Role, id.Number)}
}

// identityOf returns the one name of a certificate.
func identityOf(c *x509.Certificate) (Identity, error) {
	if len(c.URIs) != 1 || len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses) != 0 {
		return Identity{}, fmt.Errorf("%w: the certificate has other names, or several", ErrBadIdentity)
	}
	return ParseIdentity(c.URIs[0].String())
}

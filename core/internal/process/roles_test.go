package process

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/pki"
)

func TestFits_EachPairOfRoles_OnlyHeadsAndNodesWithTheirNumbersTalk(t *testing.T) {
	for _, c := range []struct {
		self, peer pki.Role
		number     uint32
		want       bool
	}{
		{pki.RoleNode, pki.RoleHead, HeadNumber, true},
		{pki.RoleNode, pki.RoleNode, 7, true},
		{pki.RoleHead, pki.RoleNode, 7, true},
		{pki.RoleNode, pki.RoleHead, 7, false},
		{pki.RoleNode, pki.RoleNode, HeadNumber, false},
		{pki.RoleNode, pki.RoleGateway, 7, false},
		{pki.RoleNode, pki.RoleGateway, HeadNumber, false},
		{pki.RoleHead, pki.RoleGateway, 7, false},
		{pki.RoleHead, pki.RoleHead, HeadNumber, true},
		{pki.RoleHead, pki.RoleHead, 9, false},
		{pki.RoleHead, pki.RoleNode, HeadNumber, false},
	} {
		if err := Fits(c.self, func(number uint32) bool { return number == HeadNumber })(pki.Identity{Role: c.peer, Number: c.number}); (err == nil) != c.want {
			t.Errorf("a %s talks with %s %d: %v, want %v", c.self, c.peer, c.number, err, c.want)
		}
	}
}

package main

import (
	"crypto/tls"
	"time"

	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/pki"
)

// roles shows certificates that are right, of members that may not do what they do.
func (a *attacker) roles() error {
	authority, member, err := a.inside()
	if err != nil {
		return err
	}
	now, id := time.Now(), member.Identity
	as := func(role pki.Role, number uint32) pki.Identity {
		return pki.Identity{Cluster: id.Cluster, Generation: id.Generation, Role: role, Number: number}
	}
	const nobody = 1 << 30
	purposes, tried := []byte{forLink, forBulk, forRaft}, 0
	try := func(name string, p port, to uint32, id pki.Identity) error {
		var certificate tls.Certificate
		certificate, err := signed(authority, id, now)
		if err != nil {
			return err
		}
		a.count(name, 1)
		purpose := purposes[tried%len(purposes)]
		tried++
		in, answer, err := shownFor(purpose, p, to, id, certificate)
		if err == nil && in {
			a.breach("%s, purpose %d: the %s port lets it in; it says %q", name, purpose, p.kind, answer)
		}
		return err
	}
	for first := true; first || time.Now().Before(a.end); first = false {
		for _, p := range a.linked() {
			own := p.number
			if err := a.replicates(p, as(pki.RoleNode, id.Number), authority); err != nil {
				return err
			}
			tries := map[string]error{
				"a head with a node's number":    try("a head with a node's number", p, own, as(pki.RoleHead, id.Number)),
				"a head with nobody's number":    try("a head with nobody's number", p, own, as(pki.RoleHead, nobody)),
				"a greeting for another member":  try("a greeting for another member", p, nobody, id),
				"a node with the head's number":  try("a node with the head's number", p, own, as(pki.RoleNode, 0)),
				"a node with the port's number":  try("a node with the port's number", p, own, as(pki.RoleNode, own)),
				"a gateway with a node's number": try("a gateway with a node's number", p, own, as(pki.RoleGateway, id.Number)),
			}
			for _, err := range tries {
				if err != nil {
					return err
				}
			}
			for _, other := range a.linked() {
				if other.kind == "node" && other.number != own {
					if err := try("a head with the number of a node that works", p, own, as(pki.RoleHead, other.number)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// replicates asks as a node to take part in the replication of the cluster's state.
func (a *attacker) replicates(p port, node pki.Identity, authority *pki.Authority) error {
	certificate, err := signed(authority, node, time.Now())
	if err != nil {
		return err
	}
	a.count("a node that replicates the state", 1)
	in, answer, err := shownFor(forRaft, p, p.number, node, certificate)
	if err == nil && in {
		a.breach("a node that replicates the state: the %s port lets it in; it says %q", p.kind, answer)
	}
	return err
}

// inside returns the cluster's own authority, and a member that has joined and knows the ports of the others.
func (a *attacker) inside() (authority *pki.Authority, m join.Membership, err error) {
	if authority, err = a.authority(); err != nil {
		return nil, m, err
	}
	if m, err = a.joined(); err != nil {
		return nil, m, err
	}
	return authority, m, a.learn(m)
}

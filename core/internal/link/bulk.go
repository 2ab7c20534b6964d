package link

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// bulkConn is a connection of its own to a node, for much data. It ends with its connection.
type bulkConn struct {
	net.Conn
	under io.Closer
	k     *Link
	place chan struct{}
	once  sync.Once
}

// Bulk dials a connection of its own to the node, for much data. Each node may have dialed BulkConns of them to another
// one; Bulk waits while there are as many. The connection ends when it breaks, when the node is dead, or when the session is lost.
func (k *Link) Bulk(ctx context.Context) (net.Conn, error) {
	return k.own(ctx, "bulk connection", forBulk, k.places)
}

// Values dials a bulk connection to another head for a large value. It does not wait for those that Bulk has dialed, such as for packages of environments: Values has
// ValueConns places of its own.
func (k *Link) Values(ctx context.Context) (net.Conn, error) {
	return k.own(ctx, "bulk connection for a large value", forBulk, k.valuePlaces)
}

// Raft dials a connection of its own to another head, for what Raft says. The connection ends as a bulk connection does. Each head may have dialed
// RaftConns of them to another one; Raft waits while there are as many.
func (k *Link) Raft(ctx context.Context) (net.Conn, error) {
	return k.own(ctx, "connection for the replicated state", forRaft, k.raftPlaces)
}

// own dials a connection of its own for a purpose.
func (k *Link) own(ctx context.Context, what string, kind byte, places chan struct{}) (net.Conn, error) {
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s to node %d: all %d are in use: %w", what, k.node, cap(places), context.Cause(ctx))
	case <-k.links.ctx.Done():
		return nil, fmt.Errorf("%s to node %d: %w", what, k.node, ErrClosed)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.links.ctx, cancel)()
	reach := k.links.reach
	if k.isRelayed() {
		reach = k.links.reachAny
	}
	m, _, err := reach(ctx, k.node, kind, nil)
	if err != nil {
		<-places
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	c, err := k.newBulk(m, places)
	if err != nil {
		m.under.Close()
		return nil, err
	}
	return c, nil
}

// newBulk notes a bulk connection, which has a place. If the node is dead, it gives the place back.
func (k *Link) newBulk(m *member, place chan struct{}) (*bulkConn, error) {
	c := &bulkConn{Conn: m.nc, under: m.under, k: k, place: place}
	if err := k.noteBulk(c, m); err != nil {
		<-place
		return nil, fmt.Errorf("bulk connection with node %d: %w", k.node, err)
	}
	return c, nil
}

func (k *Link) noteBulk(c *bulkConn, m *member) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over != nil {
		return k.over
	}
	if err := k.links.outdated(m); err != nil {
		return err
	}
	k.bulk[c] = true
	return nil
}

// Close closes the connection, and makes room for another one.
func (c *bulkConn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.Conn.Close()
		c.leave()
	})
	return err
}

// sever closes the connection at once, without a word to the other end.
func (c *bulkConn) sever() {
	c.once.Do(func() {
		c.under.Close()
		c.leave()
	})
}

func (c *bulkConn) leave() {
	c.k.dropBulk(c)
	<-c.place
}

func (k *Link) dropBulk(c *bulkConn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.bulk, c)
}

func (k *Link) bulkConns() (all []*bulkConn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.bulk {
		all = append(all, c)
	}
	return all
}

// acceptOwn serves a connection that a node has dialed for a purpose of its own.
func (l *Links) acceptOwn(ctx context.Context, nc net.Conn, m *member, kind byte) error {
	k, err := l.To(m.peer.Number)
	if err != nil {
		return err
	}
	guests, serve := k.guests, l.c.Bulk
	if kind == forRaft {
		guests, serve = k.raftGuests, l.c.Raft
	}
	select {
	case guests <- struct{}{}:
	case <-ctx.Done():
		err := fmt.Errorf("connection of node %d: %d of this kind are in use", k.node, cap(guests))
		l.refuse(m, err)
		return err
	}
	c, err := k.newBulk(m, guests)
	if err != nil {
		l.refuse(m, err)
		return err
	}
	if _, err = m.nc.Write(appendBody([]byte{accepted}, nil)); err == nil {
		err = nc.SetDeadline(time.Time{})
	}
	if err != nil {
		c.sever()
		return fmt.Errorf("bulk connection of node %d: %w", k.node, err)
	}
	if !l.run(func() {
		defer c.Close()
		serve(k.node, c)
	}) {
		c.sever()
	}
	return nil
}

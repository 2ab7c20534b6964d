package headlink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/labels"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/place"
	"github.com/eagleray/eagleray/core/record"
)

// Feed is the stream of changes that nodes are told of. raftstate.Node has these methods.
type Feed interface {
	Now() record.Cursor
	Watch(ctx context.Context, from record.Cursor) (record.Batch, error)
	ListNodes() []record.Node
	ListJobs() []record.Job
}

// newsBatch is how many records travel in one message.
const newsBatch = 500

// records are the nodes and jobs as the feed showed them last. The server's lock guards them.
type records struct {
	nodes map[ids.Node]*record.Node
	jobs  map[ids.Job]*record.Job

	// What has ended, oldest first.
	dead  []ids.Node
	ended []ids.Job
}

// keptEnded is how many dead nodes and how many ended jobs are kept, for nodes that were not connected meanwhile.
const keptEnded = 1000

func newRecords() records {
	return records{nodes: map[ids.Node]*record.Node{}, jobs: map[ids.Job]*record.Job{}}
}

// node keeps a node's record.
func (r *records) node(n *record.Node) {
	old := r.nodes[n.ID]
	r.nodes[n.ID] = n
	if n.State != record.NodeDead || old != nil && old.State == record.NodeDead {
		return
	}
	if r.dead = append(r.dead, n.ID); len(r.dead) > keptEnded {
		delete(r.nodes, r.dead[0])
		r.dead = r.dead[1:]
	}
}

// job keeps a job's record.
func (r *records) job(j *record.Job) {
	old := r.jobs[j.ID]
	r.jobs[j.ID] = j
	if !j.Over() || old != nil && old.Over() {
		return
	}
	if r.ended = append(r.ended, j.ID); len(r.ended) > keptEnded {
		delete(r.jobs, r.ended[0])
		r.ended = r.ended[1:]
	}
}

// all returns the messages that bring all records.
func (r *records) all() (list []msgpack.RawMessage) {
	news := linkmsg.News{}
	for _, n := range slices.SortedFunc(maps.Values(r.nodes), func(a, b *record.Node) int { return slices.Compare(a.ID[:], b.ID[:]) }) {
		news.Nodes = append(news.Nodes, *n)
	}
	for _, j := range slices.SortedFunc(maps.Values(r.jobs), func(a, b *record.Job) int { return slices.Compare(a.ID[:], b.ID[:]) }) {
		news.Jobs = append(news.Jobs, *j)
	}
	return pack(&news)
}

// pack returns news as messages of moderate size.
func pack(news *linkmsg.News) (list []msgpack.RawMessage) {
	add := func(n linkmsg.News) {
		if b, err := linkmsg.Encode("news of the cluster", &n); err == nil { // records are small
			list = append(list, b)
		}
	}
	for nodes := range slices.Chunk(news.Nodes, newsBatch) {
		add(linkmsg.News{Nodes: nodes})
	}
	for jobs := range slices.Chunk(news.Jobs, newsBatch) {
		add(linkmsg.News{Jobs: jobs})
	}
	return list
}

// Follow tells the nodes of all nodes and jobs, and of each change, until the context ends or the feed does. It begins when the head's
// state is whole: a part of the state would look as if there were no other nodes.
func (s *Server) Follow(ctx context.Context, f Feed) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return fmt.Errorf("follow the cluster's state for the nodes: %w", ctx.Err())
	}
	for {
		from := f.Now() // before the records are read: a change is told of twice rather than never
		s.reset(f.ListNodes(), f.ListJobs())
		err := s.follow(ctx, f, from)
		if !errors.Is(err, record.ErrCompacted) {
			return fmt.Errorf("follow the cluster's state for the nodes: %w", err)
		}
	}
}

func (s *Server) follow(ctx context.Context, f Feed, from record.Cursor) error {
	for {
		batch, err := f.Watch(ctx, from)
		if err != nil {
			return err
		}
		from = batch.Next
		var news linkmsg.News
		for _, e := range batch.Events {
			switch {
			case e.Node != nil:
				news.Nodes = append(news.Nodes, *e.Node)
			case e.Job != nil:
				news.Jobs = append(news.Jobs, *e.Job)
			}
		}
		if len(news.Nodes)+len(news.Jobs) > 0 {
			s.publish(&news)
		}
	}
}

// reset replaces all records.
func (s *Server) reset(nodes []record.Node, jobs []record.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = newRecords()
	s.followed = true
	s.spread(&linkmsg.News{Nodes: nodes, Jobs: jobs})
}

// publish takes changed records.
func (s *Server) publish(news *linkmsg.News) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spread(news)
}

// spread keeps the records and sends them to the nodes that are connected; mu held.
func (s *Server) spread(news *linkmsg.News) {
	relabelled := false
	for i := range news.Nodes {
		n := &news.Nodes[i]
		n.Wire = s.wireOf(n.Number)
		old := s.known.nodes[n.ID]
		relabelled = relabelled || old == nil || !maps.Equal(old.Labels, n.Labels)
		s.known.node(n)
	}
	for i := range news.Jobs {
		s.known.job(&news.Jobs[i])
	}
	s.await()
	s.placing.decide(func(m *place.Machine) {
		for i := range news.Nodes {
			if n := &news.Nodes[i]; n.State == record.NodeDead {
				m.Died(n.ID, place.Node(n.Number))
			} else {
				m.Label(place.Node(n.Number), labels.WithID(n.Labels, n.ID))
				m.Drain(place.Node(n.Number), n.Drain != nil)
			}
		}
		if relabelled {
			m.Relabelled()
		}
	})
	s.seen(news.Nodes)
	s.push(news)
}

// wireOf returns which version of package wire the processes of a node speak, 0 if that is not known; mu held.
func (s *Server) wireOf(number uint32) int {
	if n := s.nodes[number]; n != nil {
		return n.wire
	}
	return 0
}

// tellWire tells the nodes which version of package wire a node has said that its processes speak, if they may have been told of the node before; mu held.
func (s *Server) tellWire(id ids.Node) {
	old := s.known.nodes[id]
	if old == nil || old.State == record.NodeDead || old.Wire == s.wireOf(old.Number) {
		return
	}
	n := *old
	n.Wire = s.wireOf(n.Number)
	s.known.node(&n)
	s.push(&linkmsg.News{Nodes: []record.Node{n}})
}

// push sends news to the nodes that are connected; mu held.
func (s *Server) push(news *linkmsg.News) {
	for _, b := range pack(news) {
		for _, n := range s.nodes {
			if n.session != nil {
				_ = n.session.peer.Push(linkmsg.TNews, b)
			}
		}
	}
}

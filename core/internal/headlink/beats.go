package headlink

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A registered node sends heartbeats. It knows by the answers until when the cluster counts on it.

// beats is the machine of package alive with its timer. The client's lock guards it.
type beats struct {
	registered bool
	dead       time.Duration // of silence, as the head has said
	machine    *alive.Node   // nil: there are no heartbeats (yet)
	timer      *time.Timer
	alone      bool          // nobody has counted a heartbeat for a while
	since      time.Duration // when the first heartbeat was sent after the last one that counted, if alone
	ended      bool
}

// beat takes from the head after how much silence it declares this node dead; mu held.
func (c *Client) beat(deadMs int64) error {
	b := &c.beats
	if c.o.Now == nil || deadMs == 0 {
		return nil
	}
	// Checked as milliseconds: a large number would overflow a duration.
	if deadMs < 0 || deadMs > time.Hour.Milliseconds() {
		return fmt.Errorf("the head's welcome says that a node is dead after a silence of %d ms", deadMs)
	}
	dead := time.Duration(deadMs) * time.Millisecond
	if _, err := alive.NewTiming(dead); err != nil {
		return fmt.Errorf("the head's welcome: %w", err)
	}
	if dead != b.dead { // also when a later head has another one
		b.dead, b.machine = dead, nil
	}
	c.beginBeats()
	return nil
}

// isRegistered begins the heartbeats: the head does not count on a node before.
func (c *Client) isRegistered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beats.registered = true
	c.beginBeats()
}

// beginBeats makes the machine if it is time for it; mu held.
func (c *Client) beginBeats() {
	b := &c.beats
	if b.ended || !b.registered || b.dead == 0 || b.machine != nil {
		return
	}
	t, _ := alive.NewTiming(b.dead) // beat has checked it
	b.machine = alive.NewNode(t, c.o.Now())
	if b.timer == nil {
		b.timer = time.AfterFunc(time.Hour, c.timePasses)
	}
	c.advance()
}

func (c *Client) timePasses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
}

// advance tells the machine the time; mu held.
func (c *Client) advance() {
	if c.beats.ended {
		return
	}
	c.beats.machine.Advance(c.o.Now())
	c.beatsDo()
}

// beatsDo does what the machine asks for; mu held.
func (c *Client) beatsDo() {
	b := &c.beats
	for _, a := range b.machine.Actions() {
		switch a.Kind {
		case alive.Send:
			if c.peer != nil {
				b, _ := linkmsg.Encode("a heartbeat", &linkmsg.Number{N: a.Number}) // a number can always be encoded
				_ = c.peer.Push(linkmsg.TBeat, b)
			}
		case alive.Alone:
			b.alone, b.since = true, c.o.Now()-b.dead/2
			c.o.Log.Warn("no head counts on this node any more", "for", b.dead/2)
		case alive.Together:
			b.alone = false
			c.o.Log.Info("the head counts on this node again")
		case alive.ValidUntil:
			if c.o.Promise != nil {
				c.o.Promise.Extend(a.Until)
			}
		case alive.Expired: // the workers look at the clock themselves
			c.o.Log.Warn("no head has counted on this node for so long that its exclusive actors begin no call", "for", b.dead)
		case alive.EndAll: // Node.NodeIs has brought the same news
			if c.o.Promise != nil {
				c.o.Promise.Revoke()
			}
			b.end()
			return
		}
	}
	if at, some := b.machine.NextTime(); some {
		b.timer.Reset(max(0, at-c.o.Now()))
	}
}

// end ends the heartbeats for good; the client's lock is held.
func (b *beats) end() {
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// counted takes the head's word that a heartbeat counts.
func (c *Client) counted(m *wire.Message) error {
	var n linkmsg.Number
	if err := linkmsg.Decode("an acknowledgement", m.Body, linkmsg.MaxHello, &n); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == m.Peer() && c.beats.machine != nil && !c.beats.ended {
		c.beats.machine.Acknowledged(n.N)
		c.beatsDo()
	}
	return nil
}

// toldDead ends the heartbeats of a node that was declared dead.
func (c *Client) toldDead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := &c.beats; b.machine != nil && !b.ended {
		b.machine.ToldDead()
		c.beatsDo()
	}
}

// Alone returns for how long no head has counted on this node; 0: one does, or this is not half as long as makes the node dead.
func (c *Client) Alone() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.beats.alone {
		return 0
	}
	return c.o.Now() - c.beats.since
}

package submit

import "github.com/eagleray/eagleray/core/internal/queue"

// A task knows its place in the queue that it is in, so that it can be taken out without a search.

// push puts a task at the end of a queue.
func push(q *queue.FIFO[Task], t *Task) { t.place = q.Push(t) }

// pushFront puts tasks in front of all others.
func pushFront(q *queue.FIFO[Task], ts []*Task) {
	first := q.PushFront(ts)
	for i, t := range ts {
		t.place = first + int64(i)
	}
}

// remove takes a task out, and reports whether it was in this queue.
func remove(q *queue.FIFO[Task], t *Task) bool { return q.Remove(t, t.place, (*Task).setPlace) }

// LeaveQueue takes a task out of its class's queue, and reports whether it was there.
func (t *Task) LeaveQueue() bool { return remove(&t.Template.Class.Queue, t) }

func (t *Task) setPlace(place int64) { t.place = place }

// Queue is the queue of the calls of an actor.
type Queue struct{ queue.FIFO[Task] }

func (q *Queue) push(t *Task)         { push(&q.FIFO, t) }
func (q *Queue) pushFront(ts []*Task) { pushFront(&q.FIFO, ts) }
func (q *Queue) Remove(t *Task) bool  { return remove(&q.FIFO, t) }

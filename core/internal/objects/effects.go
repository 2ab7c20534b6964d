package objects

import "time"

// effects carries out what the table orders. Its methods do not block. An order
// that has an answer is answered later, under the lock, by the method of Table
// that is named here.
type effects interface {
	write(b *batch)              // written
	restore(o *object, to Place) // restored
	makeFile(r *request)         // fileMade
	removeFile(path string)      // has no answer
	later(d time.Duration)       // tick
	now() time.Time
}

// batch is a set of objects that are written to disk together.
type batch struct {
	objects []*object
	bytes   uint64
	since   time.Time // when the order was given
}

// add puts an idle object into the batch.
func (b *batch) add(o *object) {
	unlist(o)
	o.moving = spilling
	b.objects = append(b.objects, o)
	b.bytes += o.size
}

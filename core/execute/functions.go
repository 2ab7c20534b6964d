package execute

import "slices"

// function is the code of a function in a worker. It stays while a caller's
// connection has a template of it, or the worker's program keeps what it made of it.
type function struct {
	blob    []byte
	callers int
	loaded  bool
	fetched bool // blob came from the cluster's state: it is large, and goes when the program has loaded it
}

// learns takes a template that a caller describes.
func (c *Caller) learns(id uint64, t *Template, blob []byte) {
	c.forgets(id)
	c.tmpls[id] = t
	if t.FID == [16]byte{} {
		return
	}
	fns := c.w.fns
	f := fns[t.FID]
	if f == nil {
		f = new(function)
		fns[t.FID] = f
	}
	f.callers++
	if blob != nil {
		f.blob = blob
	}
}

// forgets lets a template of a caller's go.
func (c *Caller) forgets(id uint64) {
	t := c.tmpls[id]
	if t == nil {
		return
	}
	delete(c.tmpls, id)
	if f := c.w.fns[t.FID]; f != nil {
		f.callers--
		c.w.dropFunction(t.FID)
	}
}

// forgetsAll lets all templates go: the caller has left. What it called and what
// still runs keeps its template.
func (c *Caller) forgetsAll() {
	for id := range c.tmpls {
		c.forgets(id)
	}
}

func (w *Worker) dropFunction(fid [16]byte) {
	if f := w.fns[fid]; f != nil && f.callers <= 0 && !f.loaded {
		delete(w.fns, fid)
	}
}

// Load returns the pickled function or class, which stays until Unload; nil: it
// was not sent.
func (w *Worker) Load(fid [16]byte) []byte {
	f := w.fns[fid]
	if f == nil || f.blob == nil {
		return nil
	}
	f.loaded = true
	return f.blob
}

// Unload says that the program keeps a function no more that it asked for.
func (w *Worker) Unload(fid [16]byte) {
	if f := w.fns[fid]; f != nil {
		f.loaded = false
		if f.fetched {
			f.blob = nil
		}
		w.dropFunction(fid)
	}
}

// Fetched says that the large class of a constructor has come from the cluster's state.
func (w *Worker) Fetched(fid [16]byte, class []byte) {
	if f := w.fns[fid]; f != nil {
		f.blob, f.fetched = class, true
	}
}

// Forget has the worker's program let go of a function when it has time: the
// process whose function it was says that nobody can call it any more.
func (w *Worker) Forget(fid []byte) {
	w.forgets = append(w.forgets, fid)
	w.wakeOne(&w.main)
}

// TakeForget returns a function that the program is to let go of, nil for none.
func (w *Worker) TakeForget() []byte {
	n := len(w.forgets)
	if n == 0 || w.ended != "" {
		return nil
	}
	fid := w.forgets[n-1]
	w.forgets = slices.Delete(w.forgets, n-1, n)
	return fid
}

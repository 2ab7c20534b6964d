package execute

import "slices"

// learns adds a template that a caller describes.
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

// forgets drops one template of a caller.
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

// forgetsAll drops all templates of a caller that has left. Calls that wait or run keep
// their templates.
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

// Load returns the pickled function or class, which stays until Unload. It returns nil if
// the function was not sent.
func (w *Worker) Load(fid [16]byte) []byte {
	f := w.fns[fid]
	if f == nil || f.blob == nil {
		return nil
	}
	f.loaded = true
	return f.blob
}

// Unload notes that the program no longer keeps a function that it has loaded.
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

// Forget makes the worker's program release a function when the program has time, because
// the function's process has said that the function cannot be called any more.
func (w *Worker) Forget(fid []byte) {
	w.forgets = append(w.forgets, fid)
	w.wakeOne(&w.main)
}

// TakeForget returns a function that the program has to release; ok is false
// when there is none. Another process has sent the id, which may be empty.
func (w *Worker) TakeForget() (fid []byte, ok bool) {
	n := len(w.forgets)
	if n == 0 || w.ended != "" {
		return nil, false
	}
	fid = w.forgets[n-1]
	w.forgets = slices.Delete(w.forgets, n-1, n)
	return fid, true
}

package templates

// Known is which templates the worker at the other end of a connection has, and which
// functions. The zero value has none.
type Known struct {
	templates map[int]bool
	functions map[string]int // in how many of its templates each function is
}

// Has reports whether the worker has a template.
func (k *Known) Has(id int) bool { return k.templates[id] }

// Add notes that the worker gets a template. It reports whether the worker lacks the function.
func (k *Known) Add(id int, fid []byte) (lacks bool) {
	if k.templates == nil {
		k.templates, k.functions = map[int]bool{}, map[string]int{}
	}
	k.templates[id] = true
	if len(fid) == 0 {
		return false
	}
	k.functions[string(fid)]++
	return k.functions[string(fid)] == 1
}

// Remove notes that the worker is told to forget a template. It reports whether it had it.
func (k *Known) Remove(id int, fid []byte) bool {
	if !k.templates[id] {
		return false
	}
	delete(k.templates, id)
	if len(fid) == 0 {
		return true
	}
	if k.functions[string(fid)]--; k.functions[string(fid)] == 0 {
		delete(k.functions, string(fid))
	}
	return true
}

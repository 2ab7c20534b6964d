package headlink

// ReplacementLate is what happens when no node has come for a while after one was lost.
func (s *Server) ReplacementLate() { s.replacementLate() }

package fault

import "slices"

// Kind is a sentinel: errors.Is(err, kind) holds for every fault whose code is one of the kind's.
type Kind struct {
	text  string
	codes []Code
}

// NewKind returns a sentinel for the faults with these codes.
func NewKind(text string, codes ...Code) *Kind { return &Kind{text, codes} }

// Error returns what the sentinel stands for.
func (k *Kind) Error() string { return k.text }

// Has reports whether faults with this code are of the kind.
func (k *Kind) Has(c Code) bool { return slices.Contains(k.codes, c) }

// FaultCode returns the first of the kind's codes, so CodeOf knows a sentinel that is returned as it is.
func (k *Kind) FaultCode() Code {
	if len(k.codes) == 0 {
		return Internal
	}
	return k.codes[0]
}

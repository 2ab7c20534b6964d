package nodeprocess

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNodeName is far more than the name of a machine or of a pod has.
const maxNodeName = 256

// CheckName checks the name of a node, which is shown in lists and in logs.
func CheckName(text string) error {
	switch {
	case len(text) > maxNodeName:
		return fmt.Errorf("the name of a node has at most %d bytes, not %d; it begins with %.60q", maxNodeName, len(text), text)
	case !utf8.ValidString(text):
		return fmt.Errorf("the name of a node must be UTF-8, not %q", text)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the name of a node must have printable characters only, not %q", text)
	}
	return nil
}

package strategy

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

func TestParse_TextsOfStrategies_ComeBack(t *testing.T) {
	node := ids.NewNode()
	for _, s := range []Strategy{{}, {Kind: Spread}, {Kind: Affinity, Node: node}, {Kind: Affinity, Node: node, Soft: true}} {
		if got, err := Parse(s.String()); err != nil || got != s {
			t.Errorf("%s is read as %+v, %v", s, got, err)
		}
		if got, err := Parse(s.Text()); err != nil || got != s || s == (Strategy{}) && s.Text() != "" {
			t.Errorf("%q is read as %+v, %v", s.Text(), got, err)
		}
	}
	if got, err := Parse(""); err != nil || got != (Strategy{}) {
		t.Errorf("no text is read as %+v, %v", got, err)
	}
}

func TestParse_WrongTexts_AreRefused(t *testing.T) {
	hex := ids.NewNode().String()
	for text, says := range map[string]string{
		"PACK": "not known", "spread": "not known", "node:": "names no node", "node:" + hex[2:]: "names no node", "node:" + hex + ":hard": "names no node",
		"node:" + hex + "00": "names no node", "node:soft": "names no node", strings.Repeat("x", 1000): "not known",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) || len(err.Error()) > 300 {
			t.Errorf("%.80q: %v, want an error with %q", text, err, says)
		}
	}
}

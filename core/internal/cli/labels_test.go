package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseLabels_Right(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                              {},
		"a=b":                           {"a": "b"},
		" a = b , c=":                   {"a": "b", "c": ""},
		`"a=b,c=d"`:                     {"a": "b", "c": "d"},
		"ray.io/market-type=spot,9=8_7": {"ray.io/market-type": "spot", "9": "8_7"},
		`{"a": "b"}`:                    {"a": "b"},
		"a=b,a=c":                       {"a": "c"},
		"a=" + strings.Repeat("v", 63):  {"a": strings.Repeat("v", 63)},
	} {
		if got, err := parseLabels(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParseLabels_Wrong_SaysWhat(t *testing.T) {
	for text, words := range map[string]string{
		"plain":                           `"plain" is not key=value`,
		"a=b,":                            `"" is not key=value`,
		"=b":                              `"=b" is not key=value`,
		"a=b=c":                           `the value "b=c" of the label "a"`,
		"a=-b":                            `the value "-b" of the label "a"`,
		"a=b.":                            `the value "b." of the label "a"`,
		"a b=c":                           `the name of the label "a b"`,
		"ä=c":                             `the name of the label "ä"`,
		"x/=c":                            `the name of the label "x/"`,
		"/x=c":                            `the prefix of the label "/x"`,
		"a/b/c=d":                         `the prefix of the label "a/b/c"`,
		`{"a": 1}`:                        "is not a JSON object of texts",
		`{"a": "b"`:                       "is not a JSON object of texts",
		strings.Repeat("k", 64) + "=v":    "must have at most 63 letters, digits",
		"a=" + strings.Repeat("v", 64):    "must have at most 63 letters, digits",
		strings.Repeat("p", 254) + "/a=v": "must have at most 253 letters, digits",
	} {
		if got, err := parseLabels(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, words)
		}
	}
}

func TestYamlLabels_Right(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"gpu: A100\nregion: us\n":                 {"gpu": "A100", "region": "us"},
		"# a comment\n---\nrack: \"12\" # text\n": {"rack": "12"},
		"{zone: b, 'row': '3'}":                   {"zone": "b", "row": "3"},
		"ray.io/market-type: spot":                {"ray.io/market-type": "spot"},
		"empty: ''":                               {"empty": ""},
		"{}":                                      {},
	} {
		if got, err := yamlLabels(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestYamlLabels_Wrong_SaysWhatAndWhere(t *testing.T) {
	for text, words := range map[string]string{
		"":                         "not a list of labels",
		"# nothing":                "not a list of labels",
		"- a\n- b":                 "not a list of labels",
		"a=b":                      "not a list of labels",
		"a: b\nrack: 12":           `line 2: the value of "rack" is not a text`,
		"rack: true":               `line 1: the value of "rack" is not a text`,
		"rack:":                    `line 1: the value of "rack" is not a text`,
		"rack: [a]":                `line 1: the value of "rack" is not a text`,
		"rack: {a: b}":             `line 1: the value of "rack" is not a text`,
		"x: &a b\ny: *a":           `line 2: the value of "y" is not a text`,
		"7: a":                     `line 1: the key "7" is not a text`,
		"a: b\na: c":               `line 2: the label "a" is there twice`,
		"a: b\n---\nc: d":          "a file of labels has one document",
		"a: b\n---\n: : :\n\tx: [": "yaml: ",
		"a: 'b":                    "yaml: ",
		"\ta: b":                   "yaml: ",
	} {
		if got, err := yamlLabels(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, words)
		}
	}
}

func TestLabelsOf_FileAndFlag_TheFlagComesFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a: file\nb: file\n")
	got, err := labelsOf(map[string]string{"--labels-file": path, "--labels": "b=flag,c=flag"})
	if err != nil || !maps.Equal(got, map[string]string{"a": "file", "b": "flag", "c": "flag"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := labelsOf(nil); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for text, words := range map[string]string{
		"a: b c": "--labels-file: " + path + `: the value "b c" of the label "a"`,
		"a: 5":   "--labels-file: " + path + ": line 1",
		"a: " + strings.Repeat("b", maxLabelsFile): "has more than 1048576 bytes",
	} {
		write(text)
		if got, err := labelsOf(map[string]string{"--labels-file": path}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.20q: %v, %.200v", text, got, err)
		}
	}
	if _, err := labelsOf(map[string]string{"--labels-file": path + "no"}); err == nil || !strings.Contains(err.Error(), "--labels-file: open "+path+"no: no such file") {
		t.Errorf("%v", err)
	}
}

// Whatever a file of labels has, it is labels that are allowed, or an error.
func FuzzYamlLabels(f *testing.F) {
	for _, text := range []string{"a: b", "a: &x b\nc: *x", "<<: {a: b}", "? [a]\n: b", "--- a\n--- b", "a: |\n  b\n", "%YAML 1.1\n---\na: !!str 5", "a: !!binary b\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := yamlLabels(text)
		if (err == nil) == (labels == nil) {
			t.Fatalf("%v, %v", labels, err)
		}
	})
}

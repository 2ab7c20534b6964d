package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxLabelsFile bounds what is read of a file of labels.
const maxLabelsFile = 1 << 20 // bytes

// labelsOf reads the labels that the flags give. As in Ray, those of --labels count more than those of the file.
func labelsOf(flags map[string]string) (labels map[string]string, err error) {
	if path, given := flags["--labels-file"]; given {
		if labels, err = labelsFile(path); err != nil {
			return nil, fmt.Errorf("--labels-file: %w", err)
		}
	}
	if text, given := flags["--labels"]; given {
		more, err := parseLabels(text)
		if err != nil {
			return nil, fmt.Errorf("--labels: %w", err)
		}
		if labels == nil {
			labels = make(map[string]string)
		}
		maps.Copy(labels, more)
	}
	return labels, nil
}

// parseLabels reads K=V,… or, as Ray's older command lines have it, a JSON object.
func parseLabels(text string) (map[string]string, error) {
	labels := make(map[string]string)
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1] // as Ray does: quotes inside the shell's quotes
	}
	if text == "" {
		return labels, nil
	}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			return nil, fmt.Errorf("%q is not a JSON object of texts: %w", text, err)
		}
		return labels, checkLabels(labels)
	}
	for _, pair := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || k == "" {
			return nil, fmt.Errorf("%q is not key=value", pair)
		}
		labels[k] = v
	}
	return labels, checkLabels(labels)
}

// labelsFile reads a YAML file that maps keys to texts.
func labelsFile(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLabelsFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLabelsFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxLabelsFile)
	}
	labels, err := yamlLabels(string(text))
	if err == nil {
		err = checkLabels(labels)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return labels, nil
}

// yamlLabels reads a YAML document that maps keys to texts.
func yamlLabels(text string) (map[string]string, error) {
	var doc, more yaml.Node
	in := yaml.NewDecoder(strings.NewReader(text))
	if err := in.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("not a list of labels, which are lines such as `region: us`")
	}
	if err := in.Decode(&more); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("a file of labels has one document")
		}
		return nil, err
	}
	labels := make(map[string]string)
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if !isText(key) {
			return nil, fmt.Errorf("line %d: the key %q is not a text; write it in quotes", key.Line, key.Value)
		}
		if !isText(value) {
			return nil, fmt.Errorf("line %d: the value of %q is not a text; write it in quotes, as %s: \"1\"", value.Line, key.Value, key.Value)
		}
		if _, twice := labels[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the label %q is there twice", key.Line, key.Value)
		}
		labels[key.Value] = value.Value
	}
	return labels, nil
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// What a label may be, as in Kubernetes and in Ray.
const (
	maxLabel  = 63  // bytes of a value, or of a key without its prefix
	maxPrefix = 253 // bytes of a key's prefix
)

// labelWord says whether a text is a part of a key, or a value: letters, digits and, between them, dashes, underscores
// and dots.
func labelWord(text string, most int) bool {
	for i, r := range text {
		inside := i > 0 && i < len(text)-1
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
		case inside && strings.ContainsRune("-_.", r):
		default:
			return false
		}
	}
	return text != "" && len(text) <= most
}

// checkLabels checks keys, which are [prefix/]name, and values.
func checkLabels(labels map[string]string) error {
	const form = "letters, digits, dashes, underscores and dots, with a letter or digit at both ends"
	for _, key := range sortedKeys(labels) {
		name := key
		if at := strings.LastIndexByte(key, '/'); at >= 0 {
			prefix := key[:at]
			name = key[at+1:]
			if !labelWord(prefix, maxPrefix) {
				return fmt.Errorf("the prefix of the label %q must have at most %d %s", key, maxPrefix, form)
			}
		}
		if !labelWord(name, maxLabel) {
			return fmt.Errorf("the name of the label %q must have at most %d %s", key, maxLabel, form)
		}
		if v := labels[key]; v != "" && !labelWord(v, maxLabel) {
			return fmt.Errorf("the value %q of the label %q must have at most %d %s", v, key, maxLabel, form)
		}
	}
	return nil
}

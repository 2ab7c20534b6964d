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

	nodelabels "github.com/eagleray/eagleray/core/internal/labels"
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
		return labels, nodelabels.Check(labels)
	}
	for _, pair := range strings.Split(text, ",") {
		k, v, ok := strings.Cut(pair, "=")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || k == "" {
			return nil, fmt.Errorf("%q is not key=value", pair)
		}
		labels[k] = v
	}
	return labels, nodelabels.Check(labels)
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
		err = nodelabels.Check(labels)
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

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxYAML is more than a runtime environment has.
const maxYAML = 1 << 20

// runYAMLJSON writes the YAML of the input as JSON: the Python commands have no reader of YAML of their own.
func runYAMLJSON(args []string, out, _ io.Writer) error {
	if _, err := parseFlags("yaml-json", nil, args); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxYAML+1))
	if err != nil {
		return err
	}
	if len(text) > maxYAML {
		return fmt.Errorf("it has more than %d bytes", maxYAML)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return err
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("it is not what JSON can say: %w", err)
	}
	_, err = out.Write(b)
	return err
}

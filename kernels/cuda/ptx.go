//go:build cuda && cgo

package cuda

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
)

// The PTX of every kernel, one file per source and element type.
//
//go:generate ../../.venv/bin/python ../src/compile_ptx.py --tools ../../build/cuda/tools
//go:embed ptx.zip
var archive []byte

// ptx is the file's text.
func ptx(file string) (string, error) {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return "", fmt.Errorf("the embedded kernels: %w", err)
	}
	f, err := r.Open(file + ".ptx")
	if err != nil {
		return "", fmt.Errorf("the embedded kernels: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("the embedded kernels: %w", err)
	}
	return string(text), nil
}

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/eagleray/eagleray/core/internal/archive"
)

var packFolderOptions = []option{
	{name: "--path", value: "PATH", about: "the folder or file"},
	{name: "--excludes", value: "JSON", about: "a list of patterns as in .gitignore"},
	{name: "--named", about: "put it under its own name"},
	{name: "--no-gitignore", about: ".gitignore files exclude nothing"},
}

// runPackFolder writes a folder as a tar: the client of submitted jobs uploads it.
func runPackFolder(args []string, out, _ io.Writer) error {
	flags, err := parseFlags("pack-folder", packFolderOptions, args)
	if err != nil {
		return err
	}
	var excludes []string
	if text := flags["--excludes"]; text != "" {
		if err := json.Unmarshal([]byte(text), &excludes); err != nil {
			return usage("pack-folder: --excludes: %v", err)
		}
	}
	w := bufio.NewWriterSize(out, 1<<20)
	if _, err := archive.Pack(w, flags["--path"], archive.Options{Named: flags["--named"] != "", Excludes: excludes, NoGitignore: flags["--no-gitignore"] != ""}); err != nil {
		return fmt.Errorf("pack-folder: %w", err)
	}
	return w.Flush()
}

// Package archive makes one stream of a folder, and a folder of such a stream. The folders of runtime environments travel between nodes so.
//
// # The stream
//
// The stream is a tar of files, folders and symlinks. Equal contents make equal bytes: entries are sorted, and times and owners are left out. Of a file's mode only
// the right to execute is kept. So a hash of the stream names the contents.
//
// # What is packed
//
// Pack leaves out what Options.Excludes, .rayignore files and, unless Options.NoGitignore is set, .gitignore files exclude. All have git's syntax. A path is left out
// if one of these lists excludes it: a pattern with "!" takes back patterns of its own list only. Nothing below a folder that is left out is looked at.
//
// A symlink to something in the folder stays a symlink. In place of a symlink that leads outside, Pack takes what it leads to. A symlink that leads nowhere, a socket, a pipe and a device are
// left out.
//
// # What is unpacked
//
// Unpack trusts no byte. Each entry must lie in a folder that came before it, each name may come once, and each symlink must lead to a place below the new folder. The numbers of
// files and bytes are capped. The file system is used through os.Root, which refuses to leave the folder.
//
// The package has no goroutines and no locks.
package archive

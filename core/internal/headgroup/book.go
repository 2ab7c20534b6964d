package headgroup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// settingPrefix begins the names of the settings of the cluster's state that say who the heads are.
const settingPrefix = "head/"

// SettingOf is the name of the setting of a head, by Raft's name of it.
func SettingOf(id string) string { return settingPrefix + id }

// IsSetting reports whether a setting is that of a head.
func IsSetting(name string) bool { return strings.HasPrefix(name, settingPrefix) }

// Entry is what the state says of a head.
type Entry struct {
	linkmsg.HeadAt
	// Voter has the head get a vote at once, without waiting until it is needed.
	Voter bool `json:"voter,omitempty"`
	// Removed is set until Raft's members do without the head. Its number is never given again.
	Removed bool `json:"removed,omitempty"`
}

// Encode returns the value of the head's setting.
func (e *Entry) Encode() ([]byte, error) {
	if err := linkmsg.CheckHeads([]linkmsg.HeadAt{e.HeadAt}); err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// ParseEntry reads the value of a head's setting.
func ParseEntry(b []byte) (e Entry, err error) {
	if err = json.Unmarshal(b, &e); err == nil {
		err = linkmsg.CheckHeads([]linkmsg.HeadAt{e.HeadAt})
	}
	if err != nil {
		return e, fmt.Errorf("setting of a head: %w", err)
	}
	return e, nil
}

// Settings are the settings of the cluster's state. raftstate.Node has these methods.
type Settings interface {
	Settings() []string
	Setting(name string) ([]byte, bool)
}

// Entries returns what the state says of all heads, in the order of their numbers.
func Entries(s Settings) (list []Entry) {
	for _, name := range s.Settings() {
		if !IsSetting(name) {
			continue
		}
		b, known := s.Setting(name)
		if e, err := ParseEntry(b); known && err == nil {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return int(int64(a.Number) - int64(b.Number)) })
	return list
}

// Book says which head is where. It keeps that in the head's file, too.
type Book struct {
	dir string
	log *slog.Logger

	mu      sync.Mutex
	file    File
	said    map[uint32][]string // where heads have said that they are, by number; the state may say it later, or not yet
	changed chan struct{}       // closed at the next change

	saving sync.Mutex // held while the file is written
	saved  File       // as it was written last
}

// NewBook returns a book that begins with what the file in a folder says, and keeps that file as the book is.
func NewBook(dir string, f *File, log *slog.Logger) *Book {
	b := &Book{dir: dir, log: log, file: *f, said: map[uint32][]string{}, changed: make(chan struct{})}
	b.saved = b.copy()
	return b
}

// List returns the heads, and a channel that is closed when that has changed.
func (b *Book) List() ([]linkmsg.HeadAt, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.file.Heads), b.changed
}

// Addresses returns where a head is dialed; none for a number that is no head's.
func (b *Book) Addresses(number uint32) []string {
	h, _ := b.find(func(h *linkmsg.HeadAt) bool { return h.Number == number })
	return h.Addresses
}

// Has reports whether the number is a head's.
func (b *Book) Has(number uint32) bool {
	_, known := b.find(func(h *linkmsg.HeadAt) bool { return h.Number == number })
	return known
}

// Number returns the number of the head that Raft calls so.
func (b *Book) Number(id string) (uint32, bool) {
	h, known := b.find(func(h *linkmsg.HeadAt) bool { return h.ID == id })
	return h.Number, known
}

func (b *Book) find(is func(h *linkmsg.HeadAt) bool) (linkmsg.HeadAt, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.file.Heads {
		if is(&b.file.Heads[i]) {
			return b.file.Heads[i], true
		}
	}
	return linkmsg.HeadAt{}, false
}

// Set replaces the list by what the state says. A head that is being removed stays in it until the state has forgotten it: until then the others need its vote.
// A state that has not been read yet says nothing.
func (b *Book) Set(list []Entry) {
	var heads []linkmsg.HeadAt
	for _, e := range list {
		heads = append(heads, e.HeadAt)
	}
	if len(heads) == 0 {
		return
	}
	b.replace(heads)
	b.note()
}

// note writes the file. It says so when that fails, and goes on.
func (b *Book) note() {
	if err := b.save(); err != nil {
		b.log.Error("where the heads are, and their keys, cannot be noted; a later start of this head may look for them in vain, or need an earlier token", "error", err)
	}
}

// save writes the file, if it is not on the disk already.
func (b *Book) save() error {
	b.saving.Lock()
	defer b.saving.Unlock()
	f := b.copy()
	if reflect.DeepEqual(f, b.saved) {
		return nil
	}
	if err := f.Write(b.dir); err != nil {
		return err
	}
	b.saved = f
	return nil
}

// SetKeys keeps the sealed keys of the cluster.
func (b *Book) SetKeys(sealed []byte) {
	b.replaceKeys(sealed)
	b.note()
}

func (b *Book) replaceKeys(sealed []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file.Keys = bytes.Clone(sealed)
}

// Remove notes that this head belongs to the cluster no more.
func (b *Book) Remove() error {
	b.setRemoved()
	return b.save()
}

func (b *Book) setRemoved() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file.Removed = true
}

// Moved notes where a head has said that it is. The state says so, too, when that head could write it there, which needs a majority; until then these addresses
// come before those of the state. It reports whether that is news. A number that is no head's is none.
func (b *Book) Moved(number uint32, addresses []string) bool {
	if len(addresses) == 0 || !b.Has(number) {
		return false
	}
	b.noteSaid(number, addresses)
	list, _ := b.List()
	changed := b.replace(list)
	b.note()
	return changed
}

func (b *Book) noteSaid(number uint32, addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said[number] = slices.Clone(addresses)
}

// merged puts in front of a head's addresses those that the head has said; mu held.
func (b *Book) merged(h linkmsg.HeadAt) linkmsg.HeadAt {
	said := b.said[h.Number]
	if said == nil {
		return h
	}
	list := slices.Clone(said)
	for _, a := range h.Addresses {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	h.Addresses = list[:min(len(list), linkmsg.MaxAddresses)]
	return h
}

func (b *Book) replace(heads []linkmsg.HeadAt) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range heads {
		heads[i] = b.merged(heads[i])
	}
	if reflect.DeepEqual(heads, b.file.Heads) {
		return false
	}
	b.file.Heads = heads
	close(b.changed)
	b.changed = make(chan struct{})
	return true
}

func (b *Book) copy() File {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.file
	f.Heads = slices.Clone(f.Heads)
	return f
}

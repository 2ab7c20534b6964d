package raftstate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/values"
)

// value makes the empty value one thing, however it was decoded.
func value(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return b
}

func (b *KVPut) kind() Kind      { return KindKVPut }
func (b *KVPut) subject() string { return fmt.Sprintf("key %q", b.Key) }
func (b *KVPut) check() error    { return nil }

func (b *KVPut) apply(m *Machine) Result {
	return m.putKV(b.Namespace, b.Key, values.Value{Data: value(b.Value)}, b.Overwrite)
}

func (b *KVBlob) kind() Kind                   { return KindKVBlob }
func (b *KVBlob) subject() string              { return fmt.Sprintf("key %q", b.Key) }
func (b *KVBlob) check() error                 { return b.Value.Blob.Check() }
func (b *KVBlob) tickets() []record.BlobTicket { return []record.BlobTicket{b.Value.Ticket} }

func (b *KVBlob) apply(m *Machine) Result {
	return m.putKV(b.Namespace, b.Key, values.Value{Blob: &b.Value.Blob}, b.Overwrite)
}

// putKV stores a value under a key. A value that is replaced makes room before the new one needs it.
func (m *Machine) putKV(namespace, key string, v values.Value, overwrite bool) Result {
	keys := m.kv[namespace]
	old, known := keys[key]
	if known && !overwrite {
		return Result{}
	}
	m.blobs.Remove(old.Large()...)
	if err := m.blobs.Add(v.Large()...); err != nil {
		_ = m.blobs.Add(old.Large()...) // it was there before
		return Result{Outcome: unnamed(err)}
	}
	if keys == nil {
		keys = map[string]values.Value{}
		m.kv[namespace] = keys
	}
	keys[key] = v
	m.emit(record.Event{Kind: record.KVPutEvent, Namespace: namespace, Key: key})
	if known {
		return Result{}
	}
	return Result{Count: 1}
}

func (b *KVDel) kind() Kind      { return KindKVDel }
func (b *KVDel) subject() string { return fmt.Sprintf("key %q", b.Key) }
func (b *KVDel) check() error    { return nil }

func (b *KVDel) apply(m *Machine) Result {
	keys := m.kv[b.Namespace]
	n := 0
	if b.Prefix {
		for k := range keys { // the order does not show
			if strings.HasPrefix(k, b.Key) {
				m.blobs.Remove(keys[k].Large()...)
				delete(keys, k)
				n++
			}
		}
	} else if v, known := keys[b.Key]; known {
		m.blobs.Remove(v.Large()...)
		delete(keys, b.Key)
		n = 1
	}
	if len(keys) == 0 {
		delete(m.kv, b.Namespace) // every job has one of its own
	}
	if n == 0 {
		return Result{}
	}
	m.emit(record.Event{Kind: record.KVDelEvent, Namespace: b.Namespace, Key: b.Key, Prefix: b.Prefix})
	return Result{Count: n}
}

func (b *SettingPut) kind() Kind      { return KindSettingPut }
func (b *SettingPut) subject() string { return fmt.Sprintf("setting %q", b.Name) }
func (b *SettingPut) check() error {
	if b.Name == "" {
		return errors.New("the setting has no name")
	}
	return nil
}

func (b *SettingPut) apply(m *Machine) Result {
	m.settings[b.Name] = value(b.Value)
	m.emit(record.Event{Kind: record.SettingPutEvent, Key: b.Name})
	return Result{}
}

func (b *SettingDel) kind() Kind      { return KindSettingDel }
func (b *SettingDel) subject() string { return fmt.Sprintf("setting %q", b.Name) }
func (b *SettingDel) check() error    { return nil }

func (b *SettingDel) apply(m *Machine) Result {
	if _, known := m.settings[b.Name]; !known {
		return Result{}
	}
	delete(m.settings, b.Name)
	m.emit(record.Event{Kind: record.SettingDelEvent, Key: b.Name})
	return Result{Count: 1}
}

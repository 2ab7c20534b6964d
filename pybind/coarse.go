package pybind

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/binding"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// The coarse calls: text in, text out, one gopy call each. They work on the
// same session as the hot path. Values are JSON; an object that they name is
// held until Release.

func open() (*binding.Client, error) {
	if c := binding.Current(); c != nil {
		return c, nil
	}
	return nil, fault.New(fault.Closed, "there is no session: call init() first")
}

// Put stores a JSON value and returns the object's id in hex.
func Put(value string) (string, error) {
	c, err := open()
	if err != nil {
		return "", err
	}
	v, err := fromJSON(value)
	if err != nil {
		return "", fmt.Errorf("put: %w", err)
	}
	meta, err := encode(v)
	if err != nil {
		return "", fmt.Errorf("put: %w", err)
	}
	id, err := c.Put(&binding.Value{Fmt: binding.FmtMsgpack, Meta: meta})
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// Get waits up to timeoutMs (negative: for ever) for the object with that id
// and returns it as JSON. Exceptions of tasks are errors.
func Get(id string, timeoutMs int) (string, error) {
	c, err := open()
	if err != nil {
		return "", err
	}
	oid, err := parse(id)
	if err != nil {
		return "", err
	}
	timeout := time.Duration(timeoutMs) * time.Millisecond
	f, err := c.Get(oid, timeout)
	if err != nil {
		return "", err
	}
	if f == nil {
		return "", fmt.Errorf("object %s is not ready after %v", id, timeout)
	}
	if f.View != 0 {
		defer c.Release(binding.Drop{View: f.View})
	}
	e, err := binding.ParseEnvelope(f.Envelope)
	if err != nil {
		return "", err
	}
	return toJSON(e)
}

// Submit calls the Python function at an import path ("math:sqrt") with a JSON
// list of arguments and returns the id of its result in hex.
func Submit(path, args string) (string, error) {
	c, err := open()
	if err != nil {
		return "", err
	}
	mod, name, ok := strings.Cut(path, ":")
	if !ok || mod == "" || name == "" {
		return "", fault.New(fault.BadRequest, "function %q: want \"module:name\"", path)
	}
	v, err := fromJSON(args)
	if err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	list, ok := v.([]any)
	if !ok {
		return "", fault.New(fault.BadRequest, "arguments are not a JSON list: %.100s", args)
	}
	meta, err := encode([]any{list, map[string]any{}, []int{}})
	if err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	blob := []byte(binding.PathPrefix + path)
	fid := sha256.Sum256(blob)
	t, err := c.NewTemplate(&binding.Template{Kind: binding.KindTask, Name: name, FID: fid[:16], Blob: blob, Returns: 1,
		MaxRetries: 3, Resources: map[string]int64{"CPU": 10000}, EnvKey: c.EnvKey(), Strategy: "DEFAULT"})
	if err != nil {
		return "", err
	}
	id, _, err := c.Submit(&binding.Call{Template: t, Args: binding.Value{Fmt: binding.FmtArgsPack, Meta: meta}})
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// Release lets an object go that Put or Submit named.
func Release(id string) error {
	c, err := open()
	if err != nil {
		return err
	}
	oid, err := parse(id)
	if err != nil {
		return err
	}
	c.Release(binding.Drop{Object: oid})
	return nil
}

func parse(id string) (oid ids.Object, err error) {
	b, err := hex.DecodeString(id)
	if err != nil {
		return oid, fault.New(fault.BadRequest, "object id %q is not hex", id)
	}
	return ids.ParseObject(b)
}

// fromJSON keeps integers integers.
func fromJSON(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i
		}
		f, err := x.Float64()
		if err != nil {
			return x.String()
		}
		return f
	case []any:
		for i := range x {
			x[i] = numbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = numbers(x[k])
		}
	}
	return v
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	e.SetSortMapKeys(true)
	err := e.Encode(v)
	return b.Bytes(), err
}

func toJSON(e binding.Envelope) (string, error) {
	var v any
	switch e.Format {
	case binding.FormatNone:
	case binding.FormatMsgpack:
		if err := msgpack.Unmarshal(e.Meta, &v); err != nil {
			return "", err
		}
	case binding.FormatFault:
		var f []string
		if err := msgpack.Unmarshal(e.Meta, &f); err != nil || len(f) < 2 {
			return "", fault.New(fault.Internal, "malformed fault")
		}
		return "", fault.New(fault.Code(f[0]), "%s", f[1])
	case binding.FormatError, binding.FormatElsewhere:
		return "", fault.New(fault.Internal, "the task raised an exception; get its reference in Python to see it")
	default:
		return "", fault.New(fault.BadRequest, "the value is not plain: JSON cannot represent it")
	}
	b, err := json.Marshal(v)
	return string(b), err
}

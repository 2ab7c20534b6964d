package templates

import "github.com/eagleray/eagleray/core/internal/snapshot"

// Snapshot returns all that a snapshot can say of a template, apart from its class.
func (t *Template[C]) Snapshot() snapshot.Template {
	x := snapshot.Template{
		Number: t.ID, Kind: t.Kind, Name: t.Name, FID: t.FID, Blob: t.Blob, Method: t.Method, Returns: t.Returns, MaxRetries: t.MaxRetries,
		RetryErrs: t.RetryErrs, MaxCalls: t.MaxCalls, Resources: t.Resources, EnvKey: t.EnvKey, Strategy: t.Strategy, AfterMs: t.AfterMs,
		Enforce: t.Enforce, MoreMemory: t.MoreMemory, Flow: t.Flow, Group: t.Group, Unordered: t.Unordered, Hidden: t.Hidden, Near: t.Near, Forget: t.Forget,
	}
	for _, o := range t.Fallback {
		x.Fallback = append(x.Fallback, o.Snapshot())
	}
	return x
}

// Restored returns the template of a snapshot, with its number and without a class.
func Restored[C any](x *snapshot.Template) *Template[C] {
	t := &Template[C]{
		ID: x.Number, Kind: x.Kind, Name: x.Name, FID: x.FID, Blob: x.Blob, Method: x.Method, Returns: x.Returns, MaxRetries: x.MaxRetries,
		RetryErrs: x.RetryErrs, MaxCalls: x.MaxCalls, Resources: x.Resources, EnvKey: x.EnvKey, Strategy: x.Strategy, AfterMs: x.AfterMs,
		Enforce: x.Enforce, MoreMemory: x.MoreMemory, Flow: x.Flow, Group: x.Group, Unordered: x.Unordered, Hidden: x.Hidden, Near: x.Near, Forget: x.Forget,
	}
	for i := range x.Fallback {
		t.Fallback = append(t.Fallback, Restored[C](&x.Fallback[i]))
	}
	return t
}

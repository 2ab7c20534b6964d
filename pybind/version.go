package pybind

// version is set by the build from python/eagleray/_version.py.
var version = "dev"

// Version returns the release that this library was built from, "dev" where
// the build did not say.
func Version() string { return version }

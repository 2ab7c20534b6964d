package kernels

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

type paramKind uint8

const (
	kindUnknown paramKind = iota
	kindPointer
	kindInt
	kindUint
	kindFloat
	kindBool
)

// param is a parameter of a CUDA C function.
type param struct {
	kind     paramKind
	size     int   // bytes of a number
	elem     DType // of a pointer; 0 where arrays of any type fit
	constant bool  // a pointer to const
	text     string
}

// Compiled when they are needed: every worker links this package, and few use it.
var (
	comments = pattern(`(?s)/\*.*?\*/|//[^\n]*`)
	global   = pattern(`__global__`)
	// The words that say nothing of a type's bytes.
	filler = pattern(`\b(const|volatile|register|struct|__restrict__|__restrict|restrict|__grid_constant__)\b`)
	word   = pattern(`[A-Za-z_][A-Za-z_0-9:]*|\*|&`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

type number struct {
	kind paramKind
	size int
	elem DType // of a pointer to it
}

// numbers are the types of parameters, in sorted words.
var numbers = map[string]number{
	"float":                  {kindFloat, 4, F32},
	"double":                 {kindFloat, 8, F64},
	"bool":                   {kindBool, 1, 0},
	"char":                   {kindInt, 1, U8},
	"char signed":            {kindInt, 1, 0},
	"char unsigned":          {kindUint, 1, U8},
	"short":                  {kindInt, 2, 0},
	"short unsigned":         {kindUint, 2, 0},
	"int":                    {kindInt, 4, I32},
	"signed":                 {kindInt, 4, I32},
	"int signed":             {kindInt, 4, I32},
	"unsigned":               {kindUint, 4, 0},
	"int unsigned":           {kindUint, 4, 0},
	"long":                   {kindInt, 8, I64},
	"int long":               {kindInt, 8, I64},
	"long long":              {kindInt, 8, I64},
	"int long long":          {kindInt, 8, I64},
	"long unsigned":          {kindUint, 8, 0},
	"int long unsigned":      {kindUint, 8, 0},
	"long long unsigned":     {kindUint, 8, 0},
	"int long long unsigned": {kindUint, 8, 0},
	"size_t":                 {kindUint, 8, 0},
	"ptrdiff_t":              {kindInt, 8, I64},
	"int8_t":                 {kindInt, 1, 0},
	"uint8_t":                {kindUint, 1, U8},
	"int16_t":                {kindInt, 2, 0},
	"uint16_t":               {kindUint, 2, 0},
	"int32_t":                {kindInt, 4, I32},
	"uint32_t":               {kindUint, 4, 0},
	"int64_t":                {kindInt, 8, I64},
	"uint64_t":               {kindUint, 8, 0},
	"__half":                 {kindUnknown, 2, F16},
	"half":                   {kindUnknown, 2, F16},
	"__nv_bfloat16":          {kindUnknown, 2, BF16},
	"nv_bfloat16":            {kindUnknown, 2, BF16},
	"void":                   {kindUnknown, 0, 0},
}

// signature finds the parameters of a __global__ function in CUDA C. It
// returns nil where it cannot be sure of their number: a template, a macro, an
// overloaded name. A parameter of a type that it does not know is kindUnknown.
func signature(source, name string) []param {
	source = comments().ReplaceAllString(source, " ")
	var lists []string
	for _, loc := range global().FindAllStringIndex(source, -1) {
		if list, ok := parameters(source[loc[1]:], name); ok {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 || slices.ContainsFunc(lists, func(l string) bool { return l != lists[0] }) {
		return nil
	}
	if strings.ContainsAny(lists[0], "<>()#") {
		return nil
	}
	params := []param{}
	if strings.TrimSpace(lists[0]) == "" || strings.TrimSpace(lists[0]) == "void" {
		return params
	}
	for _, text := range strings.Split(lists[0], ",") {
		params = append(params, parameter(text))
	}
	return params
}

// parameters returns the list of the function that is declared at the start of
// rest, if that has the name.
func parameters(rest, name string) (string, bool) {
	for {
		open := strings.IndexByte(rest, '(')
		if open < 0 || strings.ContainsAny(rest[:open], ";{}") {
			return "", false
		}
		words := word().FindAllString(rest[:open], -1)
		depth, end := 0, -1
		for i := open; i < len(rest) && end < 0; i++ {
			switch rest[i] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					end = i
				}
			}
		}
		if end < 0 || len(words) == 0 {
			return "", false
		}
		switch words[len(words)-1] {
		case name:
			return rest[open+1 : end], true
		case "__launch_bounds__", "__cluster_dims__", "__attribute__":
			rest = rest[end+1:]
		default:
			return "", false
		}
	}
}

// parameter parses one, such as "const float *__restrict__ x".
func parameter(text string) param {
	text = strings.Join(strings.Fields(text), " ")
	p := param{text: text}
	array := strings.Contains(text, "[")
	pointee, _, _ := strings.Cut(text, "*")
	constant := strings.Contains(" "+pointee, " const ") || strings.HasSuffix(pointee, " const")
	plain, _, _ := strings.Cut(text, "[")
	plain, _, _ = strings.Cut(plain, "=")
	words := word().FindAllString(filler().ReplaceAllString(plain, " "), -1)
	stars := 0
	var typ []string
	for _, w := range words {
		switch w {
		case "*":
			stars++
		case "&":
			return p
		default:
			if stars == 0 {
				typ = append(typ, strings.TrimPrefix(w, "std::"))
			}
		}
	}
	if array {
		stars++
	}
	n, ok := lookup(typ)
	if !ok && len(typ) > 1 { // the last word is the parameter's name
		n, ok = lookup(typ[:len(typ)-1])
	}
	switch {
	case stars > 1:
		p.kind = kindPointer
	case stars == 1:
		p.kind, p.constant = kindPointer, constant
		if ok {
			p.elem = n.elem
		}
	case ok:
		p.kind, p.size = n.kind, n.size
	}
	return p
}

func lookup(words []string) (number, bool) {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	n, ok := numbers[strings.Join(sorted, " ")]
	return n, ok
}

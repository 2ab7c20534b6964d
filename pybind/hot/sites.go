//go:build eagleray_hot

package main

// #include <stdint.h>
import "C"

import (
	"sync"

	"github.com/eagleray/eagleray/core/binding"
)

// What the numbers of site.c mean; they last as long as the process.
var sites struct {
	sync.Mutex
	text []string // number 1 first
}

// HotSite tells the text of a new number; they come in order.
//
//export HotSite
func HotSite(number C.uint32_t, text *C.char, n C.int64_t) {
	sites.Lock()
	defer sites.Unlock()
	for len(sites.text) < int(number) {
		sites.text = append(sites.text, "")
	}
	sites.text[number-1] = C.GoStringN(text, C.int(n))
}

func siteText(number uint32) string {
	sites.Lock()
	defer sites.Unlock()
	if number == 0 || int(number) > len(sites.text) {
		return ""
	}
	return sites.text[number-1]
}

// HotSiteOf returns where a reference was made (malloc), "" when nobody knows.
//
//export HotSiteOf
func HotSiteOf(id *C.uchar) *C.char {
	if c := binding.Current(); c != nil {
		return C.CString(c.SiteOf(objectID(id)))
	}
	return C.CString("")
}

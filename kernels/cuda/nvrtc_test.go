//go:build cuda && cgo

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NVIDIA's compiler, which make check installs there, needs no GPU.
const installedNVRTC = "../../build/cuda/tools/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

func init() {
	children["nvrtc"] = func() {
		if err := openNVRTC("cuda:0"); err != nil {
			os.Stdout.WriteString(err.Error())
			return
		}
		d := Device{capability: [2]int{12, 0}} // newer than the compiler: it makes PTX for the newest that it knows
		for _, options := range [][]string{d.target(nil), {"--gpu-architecture=sm_80"}, {"--gpu-architecture=sm_80", "--nonsense"}} {
			code, lowered, err := compile(userSource, "fill<double>", options)
			if err != nil {
				os.Stdout.WriteString(strings.ReplaceAll(err.Error(), "\n", " ") + "\n")
				continue
			}
			kind := "PTX"
			if strings.HasPrefix(code, "\x7fELF") {
				kind = "cubin"
			}
			os.Stdout.WriteString(kind + " " + lowered + " " + options[0] + "\n")
		}
	}
}

func TestCompilerOfNVIDIA(t *testing.T) {
	library, err := filepath.Abs(installedNVRTC)
	must(t, err)
	if _, err := os.Stat(library); err != nil {
		t.Skip("NVRTC is not installed; make check does that")
	}
	lines := strings.Split(child(t, "nvrtc", "EAGLERAY_NVRTC="+library), "\n")
	if len(lines) != 3 {
		t.Fatal(lines)
	}
	wantText(t, lines[0], "PTX _Z4fillIdEvPT_S0_ --gpu-architecture=compute_90")
	wantText(t, lines[1], "cubin _Z4fillIdEvPT_S0_ --gpu-architecture=sm_80")
	wantText(t, lines[2], "does not compile", "nonsense")
}

// What is not linked cannot be missing: the library asks for nothing of NVIDIA's.
func TestNothingOfNVIDIAIsLinked(t *testing.T) {
	out, err := exec.Command("ldd", os.Args[0]).CombinedOutput()
	must(t, err)
	if strings.Contains(string(out), "cuda") || strings.Contains(string(out), "nvidia") {
		t.Errorf("%s", out)
	}
}

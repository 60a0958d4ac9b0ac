package console

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/recorder/history"
)

// Version is set by the build (-ldflags -X); without it the module's version or commit is shown.
var Version string

// versionInfo is what `scalehist version` prints.
type versionInfo struct {
	Scalehist  string `json:"scalehist"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetes"`
	// Report is the version of the reports it writes and reads, History the schema of histories.
	Report   string `json:"report"`
	History  int    `json:"history"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// CurrentVersion reads the build information that the Go linker put into the binary.
func CurrentVersion() versionInfo {
	v := versionInfo{
		Scalehist: Version, Kubernetes: assets.Kubernetes(), Report: scalehist.ReportVersion, History: history.SchemaVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Scalehist = cmp.Or(v.Scalehist, info.Main.Version)
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v.Commit = setting.Value
			}
		}
	}
	v.Scalehist = cmp.Or(v.Scalehist, "(devel)")
	return v
}

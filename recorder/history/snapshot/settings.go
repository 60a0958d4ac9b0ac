package snapshot

import (
	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// settingsOf reads the settings off the autoscaler's Deployment and the priority ConfigMap beside it.
// With several autoscalers the one created first counts.
func settingsOf(o *scalehist.Objects) scalehist.CASettings {
	var s scalehist.CASettings
	namespace := ""
	for _, d := range o.Deployments {
		if flags := caflags.Of(d); flags != nil {
			s.Flags, namespace = append([]string(nil), flags...), d.Namespace
			break
		}
	}
	for _, c := range o.ConfigMaps {
		if c.Name == projection.PriorityConfigMap && (namespace == "" || c.Namespace == namespace || s.Priorities == "") {
			s.Priorities = c.Data["priorities"]
			if c.Namespace == namespace {
				break
			}
		}
	}
	return s
}

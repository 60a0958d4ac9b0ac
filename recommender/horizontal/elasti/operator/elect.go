package operator

import "github.com/scalehist/scalehist/internal/leader"

// Election is how processes agree on the one that acts.
type Election = leader.Election

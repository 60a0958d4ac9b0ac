// Package scenario is a replay and what should come of it as a YAML file, for people who do not write Go: a history, a window, an
// engine and its settings, faults, prices, and expectations. Load reads files, with the line and column of whatever is wrong in
// them; Run replays a scenario and judges it with the matchers that Go specs use; Write makes a scenario, in either form, of what a
// replay showed. It knows no command line, and meets engines only through Engines.
package scenario

// Package docstest holds the pages of the repository (*.md) as tests: every link inside the repository leads somewhere, every page
// of docs/ is in its index, and every fixture is in the README. It has no code of its own. It reads files and nothing else:
// links to other places are not looked up.
package docstest

// Package docstest holds the pages of the repository (*.md) as tests: every link inside the repository leads somewhere, every page
// of docs/ is in its index, every fixture is in docs/fixtures.md, and every command that README.md, docs/*.md and examples/*/README.md show
// is run and prints what the page shows. It has no code of its own, and knows the project by its files and its command line only.
//
// A fenced block says by its language what it is:
//
//   - console: commands behind "$ " and what they print. A line of "..." stands for any lines. What differs from run to run by
//     nature (wall time, memory, versions: varying) is not compared.
//   - sh: commands without what they print.
//   - sql: a query of the history in $HISTORY, by sqlite3; the text block after it is what it prints.
//   - any other language: data. It is not run. A block without a language is an error.
//
// A comment right above a block, which the reader does not see, says more about it:
//
//   - not run: REASON. The block is exempt.
//   - run where TEST: REASON. It is exempt where the shell's TEST fails.
//   - exit: 0 1. The codes its commands may end with; without, 0.
//   - file: NAME. The block's text is written to that file, and the commands after it find it.
//   - printed by: COMMAND. The block is what the command prints.
//   - until: TEST. The last command of the block runs until the shell's TEST holds, and is interrupted then.
//   - setup, and lines after it. Commands the reader has done before, or need not see. It needs no block.
//   - cluster. An API server of the page's own runs, and is the current context of its kubeconfig.
//
// The blocks of a page are one session: one shell, in a copy of the repository, with the scalehist of this tree on its PATH.
// `go test ./internal/docstest -update` writes what commands print now into the pages.
package docstest

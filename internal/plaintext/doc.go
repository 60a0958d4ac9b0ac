// Package plaintext keeps what others wrote from acting where scalehist prints it: names, events and messages come from histories, logs
// and reports of strangers, and end in terminals, logs of CI systems and pages.
//
// Two things are mixed in a text, and only who puts them together knows which is which: the layout (ours: lines, tables, colours) and the
// values in it (theirs). A value is made inert where it enters a text: Escape for one, Sprintf for the arguments of a format, Values for
// everything in a report. Underneath, a Writer lets nothing pass but printable text, newlines, tabs and our own colours, and breaks what a
// CI system would take for a command, so that a value nobody thought of still harms nobody.
//
// What is escaped is written as Go would write it: \n, \x1b, \u202e. The package knows nothing of what is printed.
package plaintext

// Command attack gives scalehist what nobody should: histories, object logs, reports, scenario files, policies, price
// tables, configurations and HTTP bodies that are broken on purpose. It runs the built binary as processes, each with a
// deadline and a bound on its memory, and judges what it does. `make attack` runs it.
//
// Terms: a source is a good input of one kind; a mutator breaks it; a target is a command and how it is given the input; an attack is one
// source, its mutations, and one target. A seed is one attack, the same everywhere. What an attack shows that should not be is a
// finding. Its input is kept in the form of an entry of testdata/corpus, which a plain test attacks with again.
//
// What is asked of every command: no panic and no stack trace, an end before the deadline, memory below the bound, inputs as they were (but
// for compact and retain, which are there to change them), nothing left in the folder for temporary files, exit code 0 or 2 (1 where it compares), on 2 a message that says which
// input is meant and no output file. A history that doctor finds nothing wrong with is replayed, and that must not be refused. A server must
// answer with 2xx, 4xx or 503, be well after it, and end on SIGTERM. A command that asks a server may get any answer, or none.
//
// It must not know how anything is decided or stored: all it has is bytes, a schema that it asks SQLite for, and processes.
package main

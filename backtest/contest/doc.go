// Package contest tries vertical recommenders on the same generated loads with several seeds, and says how sure the differences are: a Load is
// by name, a Table has means with confidence intervals. A rule is calibrated on loads of other seeds first, so that what was learned is
// compared with a baseline at its best. Loads are also what models that are built in are trained on.
//
// The same options give the same table, byte for byte. It must not know histories and commands.
package contest

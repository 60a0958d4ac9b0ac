// Package boosted is gradient-boosted regression trees for quantiles (Friedman, Greedy function approximation: a gradient boosting machine,
// 2001): Train fits trees to rows of numbers and Predict walks them. The loss is the pinball loss, so that of a quantile of 0.95
// nineteen of twenty targets are below what is predicted.
//
// The same rows, options and seed give the same trees, byte for byte as JSON. It must not know what the numbers mean.
package boosted

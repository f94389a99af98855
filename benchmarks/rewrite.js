// Writes the README of this folder and the chart again from the results that are there. Measures nothing: for a changed
// target, another wording, or a new results/soak.json.
// node benchmarks/rewrite.js
import { readLatest, writeResults } from './results.js'

console.log(`Written: ${writeResults(readLatest()).join(', ')}`)

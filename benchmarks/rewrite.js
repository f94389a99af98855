// Regenerates the README of this folder and the chart from the stored results, without measuring. Run it after you change
// a target or the wording, or after a new results/soak.json.
// node benchmarks/rewrite.js
import { readLatest, writeResults } from './results.js'

console.log(`Written: ${writeResults(readLatest()).join(', ')}`)

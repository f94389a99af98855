// Runs one cell of the matrix in Node, Bun or Deno, and prints a line of JSON for each step: main.mjs smoke
import process from 'node:process'
import { createRunner } from './runner.js'

const [cell, name] = process.argv.slice(2)
const runner = createRunner()
const print = (value) => console.log(JSON.stringify(value))

if (cell === 'smoke') {
  const { STEPS } = await import('./smoke/steps.js')
  for (const [title, run] of STEPS) runner.test(title, run)
} else if (cell === 'store') {
  const { declareStore } = await import('./stores.js')
  await declareStore(name, runner)
}
await runner.run(print)
print({ done: true })
// A client that keeps a connection open must not keep the process.
process.exit(0)

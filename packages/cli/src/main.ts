#!/usr/bin/env node
import { EXIT } from './exit.js'
import { run } from './run.js'
import { safe } from './safe-text.js'
import { createTerminal } from './terminal.js'
import { toMessage } from './words.js'

const terminal = createTerminal(process.env)

// Warnings of the stores, as notices. SQLite of Node is experimental in some versions, which says nothing to an operator.
process.removeAllListeners('warning')
process.on('warning', ({ name, message }) => {
  if (name !== 'ExperimentalWarning')
    terminal.warn(safe`${terminal.style('yellow', 'warning')}: ${message}\n`)
})

// A driver that throws where nobody catches it. Node itself would print its text as it is.
process.on('uncaughtException', (error) => {
  terminal.warn(safe`${terminal.style('red', 'error')}: ${toMessage(error)}\n`)
  process.exit(EXIT.unavailable)
})

const exitCode = await run(process.argv.slice(2), { terminal, env: process.env })
// Not by the event loop: a driver may hold on to a connection that is gone. An empty write waits for those before it.
process.stdout.write('', () => process.exit(exitCode))

#!/usr/bin/env node
import { EXIT } from './exit.js'
import { run } from './run.js'
import { safe } from './safe-text.js'
import { createTerminal } from './terminal.js'
import { toMessage } from './words.js'

const terminal = createTerminal(process.env)

// Print the stores' warnings as notices, and hide Node's warning that SQLite is experimental.
process.removeAllListeners('warning')
process.on('warning', ({ name, message }) => {
  if (name !== 'ExperimentalWarning')
    terminal.warn(safe`${terminal.style('yellow', 'warning')}: ${message}\n`)
})

// A driver error that nobody catches. Node would print its text unescaped.
process.on('uncaughtException', (error) => {
  terminal.warn(safe`${terminal.style('red', 'error')}: ${toMessage(error)}\n`)
  process.exit(EXIT.unavailable)
})

const exitCode = await run(process.argv.slice(2), { terminal, env: process.env })
// Exit explicitly: a driver may keep a dead connection open. The empty write waits for earlier writes.
process.stdout.write('', () => process.exit(exitCode))

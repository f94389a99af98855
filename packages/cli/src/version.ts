import { readFileSync } from 'node:fs'
import { assertArguments, type Command, writeJson } from './command.js'
import { EXIT } from './exit.js'
import { safe } from './safe-text.js'

/** Prints the version of the package. */
export const version: Command = {
  name: 'version',
  summary: 'print the version of tokenlib and of Node',
  usage: 'version [options]',
  options: {},
  async run(call) {
    assertArguments(call, [])
    const { values, terminal } = call
    const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
    const { version: tokenlib } = JSON.parse(file) as { readonly version: string }
    const node = process.versions.node
    if (values['json'] === true) writeJson(terminal, { tokenlib, node })
    else terminal.write(safe`tokenlib ${tokenlib} (Node ${node})\n`)
    return EXIT.ok
  },
}

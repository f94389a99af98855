import { run } from '../../packages/cli/src/run.js'
import { safe } from '../../packages/cli/src/safe-text.js'
import type { Terminal } from '../../packages/cli/src/terminal.js'

/** How a test answers for the outside. */
export interface TestOutside {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** The answer to a confirmation; without one there is no terminal. */
  readonly answer?: boolean
}

export interface CommandResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  /** Both, in the order of writing: what somebody sees. */
  readonly screen: string
  /** stdout as the one JSON document that it must be. */
  json<Document>(): Document
}

/** Runs a command in this process. */
export async function runCommand(
  args: readonly string[],
  { env = {}, input = '', answer }: TestOutside = {},
): Promise<CommandResult> {
  let [stdout, stderr, screen] = ['', '', '']
  const terminal: Terminal = {
    isInteractive: answer !== undefined,
    write(text) {
      stdout += text.toString()
      screen += text.toString()
    },
    warn(text) {
      stderr += text.toString()
      screen += text.toString()
    },
    style: (_format, text) => safe`${text}`,
    readInput: async () => input,
    async confirm(question) {
      const asked = `${question.toString()} [y/N] ${answer === true ? 'y' : 'n'}\n`
      stderr += asked
      screen += asked
      if (answer === undefined) throw new Error('Asked without a terminal')
      return answer
    },
  }
  const exitCode = await run(args, { terminal, env })
  return { exitCode, stdout, stderr, screen, json: <Document>() => JSON.parse(stdout) as Document }
}

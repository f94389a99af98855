import { run } from '../../src/cli/run.js'
import type { Terminal } from '../../src/cli/terminal.js'

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
  /** stdout as the one JSON document that it must be. */
  json<Document>(): Document
}

/** Runs a command in this process. */
export async function runCommand(
  args: readonly string[],
  { env = {}, input = '', answer }: TestOutside = {},
): Promise<CommandResult> {
  let [stdout, stderr] = ['', '']
  const terminal: Terminal = {
    isInteractive: answer !== undefined,
    write: (text) => void (stdout += text),
    warn: (text) => void (stderr += text),
    style: (_format, text) => text,
    readInput: async () => input,
    async confirm(question) {
      stderr += question
      if (answer === undefined) throw new Error('Asked without a terminal')
      return answer
    },
  }
  const exitCode = await run(args, { terminal, env })
  return { exitCode, stdout, stderr, json: <Document>() => JSON.parse(stdout) as Document }
}

import { createInterface } from 'node:readline/promises'
import { CommandError, EXIT } from './exit.js'
import { safe, SafeText, type TextFormat } from './safe-text.js'

/** Everything that a command reads and writes, so that tests can run commands in their own process. */
export interface Terminal {
  /** Whether stdin and stdout are a terminal, so that somebody can answer a question. */
  readonly isInteractive: boolean
  /** Writes to stdout. */
  write(text: SafeText): void
  /** Writes to stderr: progress and notices. */
  warn(text: SafeText): void
  /** The text with its format, or the text itself unless stdout is a terminal that wants colours. */
  style(format: TextFormat, text: string | SafeText): SafeText
  /** All of stdin. */
  readInput(): Promise<string>
  /** Asks a question; only `y` and `yes` are `true`. */
  confirm(question: SafeText): Promise<boolean>
}

// No token and no answer is larger. A large file piped in by mistake gets an error instead of filling the memory.
const MAX_INPUT_LENGTH = 1_048_576

/** The terminal of this process. */
export function createTerminal(
  env: Readonly<Record<string, string | undefined>>,
  { stdin, stdout, stderr }: Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'> = process,
): Terminal {
  const hasColours = wantsColours(env, stdout.isTTY)
  // Kept: `doctor --app` gives the application another stdout.
  const writeOut = stdout.write.bind(stdout)
  // A reader that exits early (`| head`) is not a failure: the command continues and exits with its own code.
  for (const stream of [stdout, stderr]) stream.on('error', ignoreClosedPipe)

  return {
    isInteractive: stdin.isTTY && stdout.isTTY,
    write: (text) => void writeOut(text.toString()),
    warn: (text) => void stderr.write(text.toString()),
    style: (format, text) => (hasColours ? SafeText.styled(format, text) : safe`${text}`),
    async readInput() {
      let text = ''
      for await (const chunk of stdin.setEncoding('utf8')) {
        text += String(chunk)
        if (text.length > MAX_INPUT_LENGTH) throw new CommandError('The input is too long', EXIT.usage)
      }
      return text
    },
    // On stderr: stdout has only the output of the command.
    async confirm(question) {
      const lines = createInterface({ input: stdin, output: stderr })
      const interrupted = new AbortController()
      const closed = new AbortController()
      lines.once('SIGINT', () => interrupted.abort())
      lines.once('close', () => closed.abort())
      try {
        const signal = AbortSignal.any([interrupted.signal, closed.signal])
        const answer = await lines.question(`${question.toString()} [y/N] `, { signal })
        return /^y(?:es)?$/i.test(answer.trim())
      } catch (error) {
        stderr.write('\n')
        if (interrupted.signal.aborted) {
          throw new CommandError('Interrupted; nothing was done', EXIT.interrupted, { cause: error })
        }
        // Ctrl-D.
        if (closed.signal.aborted) return false
        throw error
      } finally {
        lines.close()
      }
    },
  }
}

/** Whether output has colours: `FORCE_COLOR` and `NO_COLOR` decide, otherwise a terminal that is not `dumb` has them. */
export function wantsColours(
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean | undefined,
): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  // https://no-color.org: present and not empty.
  if ((env['NO_COLOR'] ?? '') !== '') return false
  return isTerminal === true && env['TERM'] !== 'dumb'
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

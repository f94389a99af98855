import type { Finding, Level } from '../../../packages/cli/src/doctor/findings.js'
import { run } from '../../../packages/cli/src/run.js'
import { safe } from '../../../packages/cli/src/safe-text.js'
import type { Terminal } from '../../../packages/cli/src/terminal.js'

/** What `doctor --json` prints. */
export interface DoctorDocument {
  readonly findings: readonly Finding[]
  readonly summary: { readonly errors: number; readonly warnings: number; readonly notes: number }
  readonly node: { readonly version: string; readonly env: string | null }
  readonly store: null | {
    readonly kind: string
    readonly url: string
    readonly version: string | null
    readonly latency: { readonly samples: number; readonly medianMs: number } | null
    readonly clock: { readonly differenceMs: number } | null
  }
  readonly replica: null | { readonly entries: number; readonly isWoken: boolean | null }
}

/** What one run of the command did. */
export interface DoctorRun {
  readonly exitCode: number
  readonly output: string
  readonly errors: string
  /** Of `--json`. */
  readonly document: DoctorDocument
  /** The level of every finding by its id; the worst where it has several. */
  readonly levels: Readonly<Partial<Record<string, Level>>>
  find(id: string): Finding | undefined
}

/** An environment that has nothing to fix. */
export const SAFE_ENV: Readonly<Record<string, string>> = {
  JWT_SECRET_KEY: 'wt0iYQYgLlR3eE1sYnN2d2Z6c1pKQmRfMDEyMzQ1Njc4OWFiY2RlZg',
  JWT_DECODE_AUDIENCE: 'shop',
  NODE_ENV: 'production',
  // The tests may share their cores with others.
  JWT_REVOCATION_TIMEOUT: '2s',
}

/** Runs `tokenlib doctor` in this process. */
export async function runDoctor(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = SAFE_ENV,
): Promise<DoctorRun> {
  const [output, errors]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    isInteractive: false,
    write: (text) => void output.push(text.toString()),
    warn: (text) => void errors.push(text.toString()),
    style: (_format, text) => safe`${text}`,
    readInput: async () => '',
    confirm: async () => false,
  }
  const exitCode = await run(['doctor', ...args], { terminal, env })
  const text = output.join('')
  // Wrong usage is answered with `error` instead of findings.
  const printed = args.includes('--json') ? (JSON.parse(text) as object) : {}
  const document = { findings: [], ...printed } as unknown as DoctorDocument
  const { findings } = document
  return {
    exitCode,
    output: text,
    errors: errors.join(''),
    document,
    // Worst first, so the first one of an id is kept.
    levels: Object.fromEntries(findings.toReversed().map(({ id, level }) => [id, level])),
    find: (id) => findings.find((finding) => finding.id === id),
  }
}

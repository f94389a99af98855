import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findSpin, type SpinBinaries } from '../helpers/servers/find-servers.js'
import { ensureServer } from '../helpers/servers/missing-server.js'

/** A property of the model: P1 to P4 of README.md. */
type Property = 'P1' | 'P2' | 'P3' | 'P4'

/** One check of the model. */
interface Run {
  readonly name: string
  /** What is defined for the preprocessor. */
  readonly definitions: readonly string[]
  /** `assertions` are P1, P2 and P4; `settles` is P3, with fairness. */
  readonly checks: 'assertions' | 'settles'
  /** The property that must fail; `null` where all must hold. */
  readonly fails: Property | null
}

interface Outcome {
  readonly states: number
  readonly isComplete: boolean
  readonly failed: Property | null
}

/** What `checkModel` does. */
export interface ModelOptions {
  /** Adds the largest check of the model, which takes minutes and gigabytes. */
  readonly isLong?: boolean
  /** Called with a line for each check. */
  readonly log: (line: string) => void
}

const TWO_LOSSES = ['ANSWERS_AT_ONCE', 'LOSSES=2']

const SOUND: readonly Run[] = [
  sound('assertions', 'REVOCATIONS=2'),
  sound('settles', ...TWO_LOSSES),
  sound('settles', 'ANSWERS_AT_ONCE', 'CRASHES=1', 'FAILURES=1', 'CLOCK_CHANGES=1'),
]

const LONG: readonly Run[] = [sound('settles', ...TWO_LOSSES, 'REVOCATIONS=2')]

const VARIANTS: readonly Run[] = [
  variant('P1', 'LINKLESS', 'ANSWERS_AT_ONCE', 'REVOCATIONS=2'),
  variant('P1', 'TIMELINES', ...TWO_LOSSES, 'REVOCATIONS=2'),
  variant('P1', 'FRESH_BY_REPLY', 'LOSSES=0'),
  variant('P2', 'COPY_CLEARED'),
  variant('P3', 'NO_RESTORE', 'ANSWERS_AT_ONCE'),
  variant('P3', 'FORGOTTEN_PROGRESS', ...TWO_LOSSES),
  variant('P3', 'GIVEN_KEPT', ...TWO_LOSSES),
  variant('P3', 'POSITION_KEPT', ...TWO_LOSSES),
  variant('P3', 'CLOCK_WITHOUT_RESTORE', 'ANSWERS_AT_ONCE', 'CLOCK_CHANGES=1'),
  variant('P4', 'REVOKE_ALL'),
]

/** Checks the model, and that every variant fails as it must. Rejects where Spin or a C compiler is missing. */
export async function checkModel(root: string, { isLong = false, log }: ModelOptions): Promise<boolean> {
  const missing = await ensureServer('spin', log)
  const programs = findSpin()
  if (missing !== null || programs === null) throw new Error(missing?.reason ?? 'There is no Spin')
  const model = join(root, 'test/model/replica.pml')
  let isSound = true
  for (const run of [...SOUND, ...(isLong ? LONG : []), ...VARIANTS]) {
    const { states, isComplete, failed } = await check(programs, model, run)
    const isExpected = failed === run.fails && (failed !== null || isComplete)
    isSound &&= isExpected
    const found = failed === null ? (isComplete ? 'holds' : 'not searched completely') : `${failed} fails`
    const count = states.toLocaleString('en')
    log(`${isExpected ? 'ok  ' : 'FAIL'} ${run.name}: ${found}, ${count} states`)
  }
  return isSound
}

function sound(checks: Run['checks'], ...definitions: string[]): Run {
  const properties = checks === 'settles' ? 'P3' : 'P1, P2, P4'
  return { name: `model, ${properties} (${definitions.join(' ')})`, definitions, checks, fails: null }
}

function variant(fails: Property, name: string, ...rest: string[]): Run {
  return {
    name: `variant ${name}`,
    definitions: [name, ...rest],
    checks: fails === 'P3' ? 'settles' : 'assertions',
    fails,
  }
}

async function check({ spin, compiler }: SpinBinaries, model: string, run: Run): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'tokenlib-model-'))
  const execute = promisify(execFile)
  try {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 }
    await execute(spin, [...run.definitions.map((name) => `-D${name}`), '-a', model], options)
    await execute(compiler, [...toCompilerOptions(run), '-o', 'pan', 'pan.c'], options)
    const search = run.checks === 'settles' ? ['-a', '-f'] : []
    const { stdout } = await execute(join(folder, 'pan'), [...search, '-m10000', '-w22'], options)
    return readOutcome(stdout)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

// A counterexample is found immediately, and breadth first it is a short one: compiling for speed takes longer than that.
function toCompilerOptions({ checks, fails }: Run): string[] {
  const properties = checks === 'settles' ? ['-DNFAIR=3'] : ['-DSAFETY', '-DNOCLAIM']
  const isShort = checks === 'assertions' && fails !== null
  return [
    fails === null ? '-O1' : '-O0',
    '-w',
    '-DVECTORSZ=1024',
    ...properties,
    ...(isShort ? ['-DBFS'] : []),
  ]
}

const ASSERTIONS: readonly (readonly [RegExp, Property])[] = [
  [/assertion violated.*required/, 'P1'],
  [/assertion violated.*refused/, 'P2'],
  [/assertion violated.*revoked/, 'P4'],
  [/acceptance cycle/, 'P3'],
]

function readOutcome(output: string): Outcome {
  const errors = /errors: (\d+)/.exec(output)?.[1]
  const states = /^\s*([\d.e+]+) states, stored/m.exec(output)?.[1]
  if (errors === undefined || states === undefined) throw new Error(`Spin gave no result:\n${output}`)
  const failed = ASSERTIONS.find(([pattern]) => pattern.test(output))?.[1] ?? null
  if (errors !== '0' && failed === null) throw new Error(`Spin found another error:\n${output}`)
  const isComplete = !/max search depth too small|Search not completed/.test(output)
  return { states: Number(states), isComplete, failed }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The program as it is published: `npm run build` first. */
export const MAIN = join(ROOT, 'packages/cli/dist/main.js')

export interface Ended {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Outside {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly cwd?: string
}

/** What a process prints until it ends. */
export async function collect(child: ChildProcess): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, stdout, stderr }
}

export const environment = (env: Outside['env']): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  ...env,
})

/** Runs the program with pipes. */
export function tokenlib(
  args: readonly string[],
  { env, input = '', cwd = ROOT }: Outside = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: environment(env) })
  child.stdin.end(input)
  return collect(child)
}

/** Whether this machine can run a program on a pseudo terminal. */
export const hasScript = existsSync('/usr/bin/script') && process.platform === 'linux'

/** Runs the program on a pseudo terminal, and types the answer once it asks. stdout has everything. */
export async function onTerminal(
  args: readonly string[],
  answer: string,
  env: Outside['env'] = {},
): Promise<Ended> {
  const command = [process.execPath, MAIN, ...args].map((part) => `'${part}'`).join(' ')
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: ROOT,
    env: environment({ TERM: 'xterm', ...env }),
  })
  let seen = ''
  let isAnswered = false
  child.stdout.on('data', (text: Buffer) => {
    seen += text.toString()
    if (isAnswered || !seen.includes('[y/N]')) return
    isAnswered = true
    child.stdin.write(answer)
  })
  return collect(child)
}

// Not below this project, whose drivers would be found; nor in a folder for temporary files that has modules itself.
const BASE = ['/var/tmp', tmpdir()].find((folder) => existsSync(folder)) ?? tmpdir()

/** An empty folder. */
export const newFolder = (): string => mkdtempSync(join(BASE, 'tokenlib-cli-'))

/** A folder in which only one driver is installed. */
export function folderWith(driver: string): string {
  const folder = newFolder()
  mkdirSync(join(folder, 'node_modules', dirname(driver)), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', driver), join(folder, 'node_modules', driver))
  return folder
}

/** Writes a CommonJS package of one file into the `node_modules` of a folder. */
export function plantPackage(folder: string, name: string, code: string, modules = 'node_modules'): void {
  const home = join(folder, modules, name)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name, main: 'index.js' }))
  writeFileSync(join(home, 'index.js'), code)
}

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type ManagerInspection, readInternals, systemScheduler, withDeadline } from 'tokenlib/kit'
import { type CommandCall, readText } from '../command.js'
import { parseTimeout } from '../connect.js'
import { CommandError, EXIT } from '../exit.js'
import { safe } from '../safe-text.js'
import { toMessage } from '../words.js'

/** A manager that a module of the application exports. */
export interface Application {
  readonly path: string
  readonly exportName: string
  readonly inspection: ManagerInspection
  /** Ends what the manager and its store began. */
  close(): Promise<void>
}

/**
 * Runs the module that `--app` names, and finds the manager in it. `CommandError` says what to change.
 *
 * What the module prints goes to stderr: stdout has nothing but the report.
 */
export async function loadApplication(call: CommandCall, path: string): Promise<Application> {
  for (const [name, value] of Object.entries(call.env)) {
    // The module reads the variables of --env-file from its own environment.
    if (value !== undefined) process.env[name] ??= value
  }
  const module = await whileRunning(call, path, () => importModule(path))
  const found = await whileRunning(call, path, () => findManagers(module))
  const { name, manager, inspection } = chooseManager(path, readText(call, 'export'), found)
  return {
    path,
    exportName: name,
    inspection,
    async close() {
      const { close } = manager as { readonly close?: () => unknown }
      if (typeof close === 'function') await close.call(manager)
      else await inspection.store?.close()
    },
  }
}

async function whileRunning<Value>(
  call: CommandCall,
  path: string,
  run: () => Promise<Value>,
): Promise<Value> {
  const timeoutMs = parseTimeout(call)
  // A module that ends the process would look like a check that passed.
  const onExit = (): void => {
    call.terminal.warn(safe`${call.terminal.style('red', 'error')}: ${path} ended the process\n`)
    process.exitCode = EXIT.usage
  }
  process.once('exit', onExit)
  try {
    return await withDeadline(
      systemScheduler,
      run(),
      timeoutMs,
      () => new Error(`it took longer than ${timeoutMs} ms; see --timeout`),
    )
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError(`--app ${path} cannot be loaded: ${toReason(path, cause)}`, EXIT.usage, { cause })
  } finally {
    process.off('exit', onExit)
  }
}

function toReason(path: string, cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException | null)?.code
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?$/.test(path)) {
    return `Node ${process.versions.node} does not run TypeScript. Name the compiled file`
  }
  return toMessage(cause)
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(path)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new CommandError(`--app ${path}: there is no such file`, EXIT.usage)
  }
  const exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  const { default: main } = exports
  // The exports of a CommonJS module are the default export, and not always named exports too.
  const isCommonJs = typeof main === 'object' && main !== null && readInternals(main) === null
  return isCommonJs ? { ...(main as Record<string, unknown>), ...exports } : exports
}

interface Found {
  readonly name: string
  readonly manager: object
  readonly inspection: ManagerInspection
}

interface Exports {
  readonly names: readonly string[]
  readonly managers: readonly Found[]
  /** Exports that look like a manager but cannot be inspected. */
  readonly strange: ReadonlyMap<string, string>
}

async function findManagers(module: Readonly<Record<string, unknown>>): Promise<Exports> {
  const managers: Found[] = []
  const strange = new Map<string, string>()
  for (const [name, exported] of Object.entries(module)) {
    // May be a promise, if keys or a store load first.
    const value: unknown = await exported
    const inspection = readInternals(value)?.inspect() ?? null
    if (inspection !== null) managers.push({ name, manager: value as object, inspection })
    else if (hasMethod(value, 'createAccessToken'))
      strange.set(name, 'is a manager of another release of tokenlib')
    else if (hasMethod(value, 'accessTokenRequired')) {
      strange.set(name, 'is a choice of managers: export the managers too, and check each with --export')
    } else if (typeof value === 'function')
      strange.set(name, 'is a function: export the manager that it returns')
  }
  return { names: Object.keys(module).filter((name) => name !== 'module.exports'), managers, strange }
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Readonly<Record<string, unknown>> | null | undefined)?.[name] === 'function'
}

function chooseManager(path: string, wanted: string | null, { names, managers, strange }: Exports): Found {
  const fail = (text: string): never => {
    throw new CommandError(`--app ${path} ${text}`, EXIT.usage)
  }
  if (wanted !== null) {
    const found = managers.find(({ name }) => name === wanted)
    if (found !== undefined) return found
    if (!names.includes(wanted)) return fail(`has no export ${wanted}; it has ${names.join(', ') || 'none'}`)
    return fail(`: ${wanted} ${strange.get(wanted) ?? 'is not a TokenManager'}`)
  }
  // One manager may be exported under several names, such as `tokens` and `default`.
  const [first, ...others] = managers
  if (first === undefined) {
    const [[name, problem] = []] = strange
    if (name !== undefined) return fail(`exports no manager: ${name} ${problem}`)
    return fail(names.length === 0 ? 'exports nothing' : `exports no TokenManager, only ${names.join(', ')}`)
  }
  if (others.some(({ manager }) => manager !== first.manager)) {
    return fail(
      `exports several managers: choose one with --export ${managers.map(({ name }) => name).join('|')}`,
    )
  }
  return managers.find(({ name }) => name !== 'default') ?? first
}

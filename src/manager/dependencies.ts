import { type RequestSource, toRequestView } from '../request/request-source.js'
import { readNote, writeNote } from '../request/notes.js'
import type { RequestView } from '../request/view.js'

/** A function of the request that returns a value or throws; what routes are guarded with. */
export type Dependency<Value> = (request: RequestSource) => Value | Promise<Value>

/** A dependency of this library: always a promise, and always the same one for the same request. */
export type TokenDependency<Value> = (request: RequestSource) => Promise<Value>

/** What a dependency returns, awaited. */
export type DependencyValue<Given> = Given extends Dependency<infer Value> ? Value : never

/** Several dependencies, by the names their values are to have. */
export type NamedDependencies = Readonly<Record<string, Dependency<unknown>>>

/** The values of several dependencies, by name. */
export type DependencyValues<Dependencies> = {
  readonly [Name in keyof Dependencies]: DependencyValue<Dependencies[Name]>
}

/** A dependency that does its work once per request, however often and wherever it is used. */
export function rememberPerRequest<Value>(
  run: (view: RequestView) => Value | Promise<Value>,
): TokenDependency<Value> {
  // Whatever it throws is a rejection.
  const attempt = async (view: RequestView): Promise<Value> => run(view)
  const recall = (request: RequestSource): Promise<Value> => {
    const view = toRequestView(request)
    const known = readNote(view, attempt)
    if (known !== undefined) return known as Promise<Value>
    const result = attempt(view)
    writeNote(view, attempt, result)
    return result
  }
  return (request) => {
    try {
      return recall(request)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }
}

/** Throws a `TypeError` unless there is something to run: a route must not stay open by a slip of the pen. */
export function assertDependencies(dependencies: readonly unknown[]): void {
  if (dependencies.length === 0) throw new TypeError('At least one dependency is needed')
  if (!dependencies.every((dependency) => typeof dependency === 'function')) {
    throw new TypeError('A dependency must be a function')
  }
}

/** Runs dependencies one after the other, in the order they are written, and gathers their values. */
export async function resolveDependencies<Dependencies extends NamedDependencies>(
  dependencies: Dependencies,
  request: RequestSource,
): Promise<DependencyValues<Dependencies>> {
  const values: Record<string, unknown> = {}
  try {
    for (const name of Object.keys(dependencies))
      values[name] = assertValue(await dependencies[name]?.(request))
  } catch (thrown) {
    throw toError(thrown)
  }
  return values as DependencyValues<Dependencies>
}

/** Runs dependencies one after the other and drops their values; the first that throws ends it. */
export async function enforceDependencies(
  dependencies: readonly Dependency<unknown>[],
  request: RequestSource,
): Promise<void> {
  try {
    for (const dependency of dependencies) assertValue(await dependency(request))
  } catch (thrown) {
    throw toError(thrown)
  }
}

// `enforce(() => tokens.accessTokenRequired)` returns a guard and runs none.
function assertValue(value: unknown): unknown {
  if (typeof value !== 'function') return value
  throw new TypeError('A dependency returned a function: pass that function itself')
}

// Frameworks take some thrown values for no error at all: undefined in Koa, 'route' in Express.
function toError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown
  return new Error('A dependency threw something that is no error', { cause: thrown })
}

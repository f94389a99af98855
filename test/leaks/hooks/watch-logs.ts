import { format } from 'node:util'
import { current } from '../current-record.js'
import { withoutFrames } from '../shown-texts.js'

type Method = (this: unknown, ...given: unknown[]) => unknown

/** Sees every line that is logged: by `console`, as a warning, or straight to an output of the process. */
export function watchLogs(): void {
  globalThis.console = watchConsole(globalThis.console)
  for (const name of ['stdout', 'stderr'] as const) {
    const write = Reflect.get(process[name], 'write') as Method
    const watched = watch(write, ([chunk]) => log(`process.${name}`, String(chunk)))
    Object.assign(process[name], { write: watched })
  }
  process.on('warning', ({ name, message }) => log('a warning', `${name}: ${message}`))
}

// Looked up at every call: a test may put a spy in the place of a method.
function watchConsole(console: Console): Console {
  const methods = new WeakMap<Method, Method>()
  return new Proxy(console, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function' || name === 'Console') return method
      const found = method as Method
      const watched =
        methods.get(found) ?? watch(found, (given) => log(`console.${String(name)}`, format(...given)))
      methods.set(found, watched)
      return watched
    },
  })
}

// A proxy: a spy stays a spy.
function watch(method: Method, see: (given: unknown[]) => void): Method {
  return new Proxy(method, {
    apply(target, self, given: unknown[]) {
      see(given)
      return Reflect.apply(target, self, given)
    },
  })
}

function log(origin: string, text: string): void {
  current.record?.show('log lines', () => [{ origin, text: withoutFrames(text) }])
}

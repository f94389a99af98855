import { current } from '../current-record.js'

// This module runs before the library is loaded: a class takes `Error` for its parent when its own module runs. So it
// imports nothing of the library, and whatever needs it imports it first.
if (current.record === null) for (const name of ['Error', 'TypeError', 'RangeError'] as const) trap(name)

/** Calls a function with every error as it is made, before a class has set the fields of its own. */
export function seeErrors(see: (error: Error, isPlain: boolean) => void): void {
  current.seeError = see
}

function trap(name: 'Error' | 'TypeError' | 'RangeError'): void {
  const value = watch(globalThis[name])
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
}

// A proxy and not a class: `instanceof`, statics, names and prototypes stay as they are.
function watch<Type extends ErrorConstructor>(type: Type): Type {
  const watched: Type = new Proxy(type, {
    construct: function construct(target, given, newTarget) {
      const isPlain = newTarget === watched
      const error = Reflect.construct(target, given, isPlain ? target : newTarget) as Error
      // The stack begins where it would begin without us; that of a class does so anyway.
      if (isPlain) Error.captureStackTrace(error, construct)
      current.seeError(error, isPlain)
      return error
    },
    apply: function apply(target, _self, given) {
      const error = Reflect.construct(target, given) as Error
      Error.captureStackTrace(error, apply)
      current.seeError(error, true)
      return error
    },
  })
  return watched
}

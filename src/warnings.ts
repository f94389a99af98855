import { IS_WORKERD } from './runtime.js'

/** Tells the operator what is unwise or has failed, as a process warning where the runtime has these. */
export function emitWarning(message: string, name = 'Warning'): void {
  // workerd has the function in newer versions, and prints nothing.
  if (!IS_WORKERD) process.emitWarning(message, name)
  else console.warn(`${name}: ${message}`)
}

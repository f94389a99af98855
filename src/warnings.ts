/** Tells the operator what is unwise or has failed, as a process warning where the runtime has these. */
export function emitWarning(message: string, name = 'Warning'): void {
  if (typeof process === 'object' && typeof process.emitWarning === 'function')
    process.emitWarning(message, name)
  else console.warn(`${name}: ${message}`)
}

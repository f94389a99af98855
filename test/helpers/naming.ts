import { expect } from 'vitest'

/** Matches an error of a class that names these options, fields or methods, whatever else it says. */
export function naming(type: 'TypeError' | 'RangeError' | 'ConfigurationError', ...names: string[]): Error {
  const all = names.map((name) => `(?=.*${name.replaceAll(/[^\w ]/g, '\\$&')})`).join('')
  return expect.objectContaining({ name: type, message: expect.stringMatching(all) as string }) as Error
}

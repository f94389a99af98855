import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the source of this library is; with a separator at its end. */
export const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url))

let source: string | undefined
const answers = new Map<string, boolean>()

/** Whether a text stands in the source of this library. */
export function isInSource(text: string): boolean {
  const answer = answers.get(text) ?? readSource().includes(text)
  answers.set(text, answer)
  return answer
}

function readSource(): string {
  return (source ??= readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(SOURCE, path), 'utf8'))
    .join('\n'))
}

import { readFileSync } from 'node:fs'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { assertNone } from '../run.js'

/** The packed package satisfies publint, down to its suggestions. */
export async function checkPublint({ manifest, tarball }) {
  const { buffer } = new Uint8Array(readFileSync(tarball))
  const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
  assertNone(
    messages.map((message) => `${message.type}: ${formatMessage(message, manifest, { color: false })}`),
  )
  return 'no messages'
}

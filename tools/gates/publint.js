import { readFileSync } from 'node:fs'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { assertNone } from '../shared/report.js'

/** The packed packages satisfy publint, down to its suggestions. */
export async function checkPublint({ packages }) {
  const problems = await Promise.all(
    packages.map(async ({ manifest, tarball }) => {
      const { buffer } = new Uint8Array(readFileSync(tarball))
      const { messages } = await publint({ pack: { tarball: buffer }, strict: true })
      return messages.map(
        (message) =>
          `${manifest.name}: ${message.type}: ${formatMessage(message, manifest, { color: false })}`,
      )
    }),
  )
  assertNone(problems.flat())
  return `${packages.length} packages, no messages`
}

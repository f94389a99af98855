import { afterEach, describe, expect, test, vi } from 'vitest'
import { createLossReporter } from '../../packages/tokenlib/src/stores/loss-reporter.js'

const REVOKED_BEFORE = Date.UTC(2026, 0, 1)
const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

afterEach(() => void warn.mockClear())

/** A reporter, what it warned of and what those who listen heard. */
function createReporter(onWarning?: () => void) {
  const warnings: string[] = []
  const heard: unknown[] = []
  const reporter = createLossReporter('Redis', onWarning ?? ((message) => void warnings.push(message)))
  const onLostData = (loss: unknown): void => void heard.push(loss)
  return { reporter, warnings, heard, onLostData }
}

describe('data that a store lost', () => {
  test('is one warning, and one call of each listener, however often it was given', () => {
    const { reporter, warnings, heard, onLostData } = createReporter()
    for (const longestLifetime of [1, 2]) reporter.listen({ longestLifetime, onLostData })
    reporter.listen({ longestLifetime: 3 })
    reporter.report(REVOKED_BEFORE)
    expect(heard).toEqual([{ revokedBefore: REVOKED_BEFORE }])
    expect(warnings).toEqual([
      expect.stringMatching(
        /Redis store lost data.*2026-01-01T00:00:00\.000Z is revoked.*keys must be revoked/,
      ),
    ])
    expect(warn).not.toHaveBeenCalled()
  })

  test('is told to every listener, also after one that fails', () => {
    const fail = (): never => {
      throw new Error('no disk')
    }
    const { reporter, heard, onLostData } = createReporter(fail)
    reporter.listen({ longestLifetime: 1, onLostData: fail })
    reporter.listen({ longestLifetime: 1, onLostData })
    reporter.report(REVOKED_BEFORE)
    expect(heard).toHaveLength(1)
    const warning = ['A listener of tokenlib failed: Error: no disk', 'TokenListenerWarning']
    expect(warn.mock.calls).toEqual([warning, warning])
  })
})

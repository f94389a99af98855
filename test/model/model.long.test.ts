import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { checkModel } from './check-model.js'

describeWithOwnServer('spin', 'the model of the replica', () => {
  test('holds, and each of its variants is caught', { timeout: 600_000 }, async () => {
    const lines: string[] = []
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const isSound = await checkModel(root, { log: (line) => lines.push(line) })
    expect(isSound, lines.join('\n')).toBe(true)
    expect(lines.length).toBeGreaterThan(0)
  })
})

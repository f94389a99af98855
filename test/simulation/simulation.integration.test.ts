import { expect, test } from 'vitest'
import { findBroken, simulate } from './run-command.js'

test('every promise holds in twenty short histories', { timeout: 120_000 }, async () => {
  const { code, output } = await simulate('--seeds', '20', '--processes', '3', '--seconds', '15')
  expect(findBroken(output)).toEqual([])
  expect(output.trim().split('\n')).toHaveLength(20)
  expect(code).toBe(0)
})

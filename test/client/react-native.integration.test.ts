import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openServer } from './open-server.js'

const child = fileURLToPath(new URL('react-native-child.js', import.meta.url))

test('the built client works with the fetch and the signals of React Native', async () => {
  const { origin, sent } = await openServer()
  const { stdout } = await promisify(execFile)(process.execPath, [child, origin])
  expect(JSON.parse(stdout)).toEqual(['ada', 200, 200, 200, 'milk', 'AbortError', null, null])
  expect(sent().filter((route) => route === 'POST /auth/refresh').length).toBeLessThanOrEqual(2)
})

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import type * as client from '../packages/client/src/index.js'
import type * as errors from '../packages/tokenlib/src/errors.js'

// What needs no Node module must not import one: a browser application handles errors too.
describe.each(['neutral', 'browser'] as const)('for the platform %s', (platform) => {
  const bundle = (source: string) =>
    build({
      stdin: { contents: source, resolveDir: fileURLToPath(new URL('../packages', import.meta.url)) },
      bundle: true,
      write: false,
      platform,
      format: 'esm',
      logLevel: 'silent',
    })

  test('tokenlib/errors is bundled, and works', async () => {
    const { outputFiles } = await bundle(
      "export { isTokenError, TokenExpiredError } from './tokenlib/src/errors.js'",
    )
    const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
    const { isTokenError, TokenExpiredError } = (await import(
      `data:text/javascript;base64,${code}`
    )) as typeof errors
    expect(isTokenError(new TokenExpiredError(0))).toBe(true)
    expect(isTokenError(new Error('TOKEN_EXPIRED'))).toBe(false)
  })

  test('@tokenlib/client is bundled, and creates a client without sending anything', async () => {
    const { outputFiles } = await bundle("export { createTokenClient } from './client/src/index.js'")
    const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
    const { createTokenClient } = (await import(`data:text/javascript;base64,${code}`)) as typeof client
    const created = createTokenClient({
      path: 'https://app.example/auth',
      fetch: () => Promise.reject(new Error('sent')),
    })
    expect(await created.session()).toBeNull()
  })

  test('a manager is not: the build says which module is missing', async () => {
    await expect(bundle("export { TokenManager } from './tokenlib/src/index.js'")).rejects.toThrow(
      'node:crypto',
    )
  })
})

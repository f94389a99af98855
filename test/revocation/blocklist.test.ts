import { transformSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import {
  RevocationUnavailableError,
  RevokedTokenError,
  type TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

test('a call registers the function and returns it; a second call replaces the first', async () => {
  const { tokens } = createManager()
  const token = tokens.createAccessToken({ uid: 'u' })
  const never = () => false
  const always = () => true
  expect(tokens.setCallbackTokenBlocklist(never)).toBe(never)
  await tokens.verify(token)
  expect(tokens.setCallbackTokenBlocklist(always)).toBe(always)
  await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
})

test('the alias registers the same callback', async () => {
  const { tokens } = createManager()
  tokens.setTokenBlocklist(() => true)
  await expect(tokens.verify(tokens.createAccessToken({ uid: 'u' }))).rejects.toBeInstanceOf(
    RevokedTokenError,
  )
  expect(tokens.setTokenBlocklist).toBe(tokens.setCallbackTokenBlocklist)
})

test.each([undefined, null, true, 'text', {}, { then: () => {} }])('%j cannot be registered', (value) => {
  const { tokens } = createManager()
  expect(() => tokens.setCallbackTokenBlocklist(value as never)).toThrow(TypeError)
})

describe.each([
  ['standard', false],
  ['legacy', true],
])('as a %s method decorator', (_, experimentalDecorators) => {
  /** Runs real TypeScript with decorators, compiled the way applications compile it. */
  function run<Result>(source: string, tokens: TokenManager): Result {
    const { code } = transformSync(source, {
      loader: 'ts',
      target: 'node20',
      tsconfigRaw: { compilerOptions: { experimentalDecorators } },
    })
    return new Function('tokens', `${code}; return Application`)(tokens) as Result
  }

  test('a static method is registered with its class, and stays callable', async () => {
    const { tokens } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' })
    const Application = run<{ revoked: Set<string>; isRevoked(token: string): boolean }>(
      `class Application {
         static revoked = new Set()
         @tokens.setCallbackTokenBlocklist
         static isRevoked(token: string) { return this.revoked.has(token) }
       }`,
      tokens,
    )
    expect((await tokens.verify(token)).sub).toBe('u')
    Application.revoked.add(token)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
    expect(Application.isRevoked(token)).toBe(true)
  })

  test('an instance method that needs no instance works immediately', async () => {
    const { tokens } = createManager()
    run(`class Application { @tokens.setCallbackTokenBlocklist isRevoked() { return true } }`, tokens)
    await expect(tokens.verify(tokens.createAccessToken({ uid: 'u' }))).rejects.toBeInstanceOf(
      RevokedTokenError,
    )
  })

  test('an instance method that needs its instance refuses until there is one', async () => {
    const { tokens } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' })
    const Application = run<new () => unknown>(
      `class Application {
         revoked = new Set()
         @tokens.setCallbackTokenBlocklist
         isRevoked(token: string) { return this.revoked.has(token) }
       }`,
      tokens,
    )
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevocationUnavailableError)
    new Application()
    // Legacy decorators do not learn of instances; a standard one binds the callback to each new one.
    if (experimentalDecorators)
      await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevocationUnavailableError)
    else expect((await tokens.verify(token)).sub).toBe('u')
  })
})

test('a decorator on anything but a method is refused', () => {
  const { tokens } = createManager()
  const context = { kind: 'getter', addInitializer: () => {} }
  expect(() => tokens.setCallbackTokenBlocklist((() => true) as never, context as never)).toThrow(TypeError)
  expect(() => tokens.setCallbackTokenBlocklist({}, 'field', undefined as never)).toThrow(TypeError)
})

import { describe, expect, test } from 'vitest'
import { recheckUpgrade, rememberUpgrade } from '../../packages/tokenlib/src/sockets/upgrade.js'
import type { RequestView } from '../../packages/tokenlib/src/http/view.js'
import type { UpgradePolicy } from '../../packages/tokenlib/src/index.js'
import type { IntrospectOptions } from '../../packages/issuers/src/index.js'
import { answerFor, createOpaqueReceiver, OPAQUE } from '../helpers/introspection.js'
import { NOW, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

/** A socket with an opaque token, which is watched, and what it was closed with. */
async function open(policy: UpgradePolicy = {}, options: Partial<IntrospectOptions> = {}) {
  const receiver = createOpaqueReceiver(options)
  const { tokens, endpoint } = receiver
  const upgrade = await tokens.sockets.authenticate(withBearer(OPAQUE), policy)
  const closed: number[] = []
  const socket = {
    readyState: 1,
    close: (code: number) => void closed.push(code),
    addEventListener() {},
  }
  tokens.sockets.closeWhenInvalid(socket, upgrade)
  /** Sends a message, as a gateway does, to a handler with this dependency. */
  const send = async <Value>(dependency: (view: RequestView) => Promise<Value>): Promise<Value> => {
    const view: RequestView = { method: 'GET', url: '/', header: () => null, body: async () => null }
    await recheckUpgrade(upgrade)
    rememberUpgrade(view, upgrade)
    return dependency(view)
  }
  return { ...receiver, upgrade, closed, send, answer: (given: object) => endpoint.tokens.set(OPAQUE, given) }
}

describe('a message of a socket with an opaque token', () => {
  test('has what the issuer says now, not what it said at the handshake', async () => {
    const { tokens, send, answer } = await open()
    const writeRequired = tokens.require({ scopes: ['notes:write'] })
    expect(await outcomeOf(send(writeRequired))).toBe('ok')
    answer(answerFor({ scope: 'notes:read' }))
    expect(await outcomeOf(send(writeRequired))).toBe('INSUFFICIENT_SCOPE')
    expect((await send(tokens.accessTokenRequired)).scopes).toEqual(['notes:read'])
    answer(answerFor({ scope: 'notes:write' }))
    expect(await outcomeOf(send(writeRequired))).toBe('ok')
  })

  test('is refused once its token is revoked at the issuer', async () => {
    const { tokens, send, answer } = await open()
    answer({ active: false })
    expect(await outcomeOf(send(tokens.accessTokenRequired))).toBe('TOKEN_INVALID')
  })

  test('may have an older answer for cacheSeconds', async () => {
    const { tokens, send, answer, clock } = await open({}, { cacheSeconds: 10 })
    const writeRequired = tokens.require({ scopes: ['notes:write'] })
    answer(answerFor({ scope: 'notes:read' }))
    await clock.advance('9.999s')
    expect(await outcomeOf(send(writeRequired))).toBe('ok')
    await clock.advance('0.001s')
    expect(await outcomeOf(send(writeRequired))).toBe('INSUFFICIENT_SCOPE')
  })
})

describe('a watched socket with an opaque token', () => {
  test.each([
    ['is revoked at the issuer', { active: false }],
    ['loses a scope that the handshake demanded', answerFor({ scope: 'notes:read' })],
  ])('is closed at the next check if its token %s', async (_, given) => {
    const { closed, clock, answer } = await open({ scopes: ['notes:write'] })
    answer(given)
    await clock.advance('29.999s')
    expect(closed).toEqual([])
    await clock.advance('0.001s')
    expect(closed).toEqual([4401])
  })

  test('stays open if it loses another scope', async () => {
    const { closed, clock, answer } = await open({ scopes: ['notes:write'] })
    answer(answerFor({ scope: 'notes:write' }))
    await clock.advance('60s')
    expect(closed).toEqual([])
  })

  test('follows an end that the issuer moves, and asks no more often than before', async () => {
    const { closed, clock, answer, endpoint } = await open()
    answer(answerFor({ exp: NOW + 1200 }))
    await clock.advance('600s')
    endpoint.asked.length = 0
    await clock.advance('60s')
    expect(endpoint.asked).toHaveLength(2)
    answer(answerFor({ exp: NOW + 695 }))
    await clock.advance('34.999s')
    expect(closed).toEqual([])
    await clock.advance('0.001s')
    expect(closed).toEqual([4401])
  })
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { outcomeOf } from '../helpers/revocable.js'
import { openToken, withBearer } from '../helpers/manager.js'
import {
  type AuthorizationServer,
  createSigningKey,
  RESOURCE,
  startAuthorizationServer,
} from './authorization-server.js'

// Two seconds each; KEY_ROTATIONS=20 runs more.
const ROTATIONS = Number(process.env['KEY_ROTATIONS'] ?? 2)

const keys = Array.from({ length: ROTATIONS + 1 }, (_, at) => createSigningKey(`key-${at}`))
let server: AuthorizationServer
beforeAll(async () => void (server = await startAuthorizationServer(keys.slice(0, 1))))
afterAll(() => server.stop())

function createManager(): TokenManager {
  return new TokenManager({
    config: new TokenConfig(),
    issuers: [
      trustIssuer({
        issuer: server.issuer,
        audience: RESOURCE,
        profile: 'at+jwt',
        keys: {
          discovery: `${server.issuer}/.well-known/openid-configuration`,
          allowPrivateNetwork: true,
          // The shortest there are: a rotation takes two of them.
          maxAge: '1s',
          cooldown: '1s',
        },
      }),
    ],
  })
}

test(
  `${ROTATIONS} rotations under load refuse no token whose key is published`,
  { timeout: 180_000 },
  async () => {
    const tokens = createManager()
    await tokens.ready()
    let published = new Set(['key-0'])
    const ending = new AbortController()
    let accepted = 0
    const refusals: string[] = []

    // Four clients, each with a new token and the one before it, over and over.
    const load = Array.from({ length: 4 }, async () => {
      let previous = await server.createServiceToken()
      while (!ending.signal.aborted) {
        const token = await server.createServiceToken()
        for (const each of [token, previous, token]) {
          const outcome = await outcomeOf(tokens.accessTokenRequired(withBearer(each)))
          const { kid } = openToken(each).header
          if (outcome === 'ok') accepted++
          else if (published.has(kid as string)) refusals.push(`${kid as string}: ${outcome}`)
        }
        previous = token
      }
    })

    const untilLoaded = async (kids: readonly string[]): Promise<void> => {
      await new Promise<void>((resolve) => {
        const stop = tokens.on('keysLoaded', (event) => {
          if ([...event.kids].toSorted().join() !== [...kids].toSorted().join()) return
          stop()
          resolve()
        })
      })
    }

    let removed = 0
    for (let at = 0; at < ROTATIONS; at++) {
      const [current, next] = keys.slice(at, at + 2) as [(typeof keys)[0], (typeof keys)[0]]
      const old = await server.createServiceToken()
      // Published before it signs, as every provider does.
      const bothLoaded = untilLoaded([current.kid, next.kid])
      server.setKeys([current, next])
      await bothLoaded
      server.setKeys([next, current])
      published = new Set([current.kid, next.kid])
      expect(await outcomeOf(tokens.verify(old))).toBe('ok')

      const onlyNextLoaded = untilLoaded([next.kid])
      published = new Set([next.kid])
      server.setKeys([next])
      await onlyNextLoaded
      if ((await outcomeOf(tokens.verify(old))) === 'TOKEN_SIGNATURE_INVALID') removed++
    }
    ending.abort()
    await Promise.all(load)

    expect(refusals).toEqual([])
    expect(removed).toBe(ROTATIONS)
    expect(accepted).toBeGreaterThan(ROTATIONS)
    console.info(
      `${ROTATIONS} rotations: ${accepted} accepted, ${refusals.length} good tokens refused, ${removed} removed keys refused, ${server.keyRequests()} requests for keys`,
    )
  },
)

test(
  'a key that signs before it was seen is loaded by the first token that names it',
  { timeout: 60_000 },
  async () => {
    const tokens = createManager()
    await tokens.ready()
    server.setKeys([createSigningKey('at-once')])
    const token = await server.createServiceToken()
    const outcomes = new Set<string>()
    // Unknown within the cool-down; the first token after it loads the key, and waits for it.
    while (!outcomes.has('ok')) {
      outcomes.add(await outcomeOf(tokens.verify(token)))
      await new Promise((resolve) => setImmediate(resolve))
    }
    outcomes.delete('TOKEN_SIGNATURE_INVALID')
    expect([...outcomes]).toEqual(['ok'])
  },
)

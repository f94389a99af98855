import { expect } from 'vitest'
import {
  type Answer,
  createJwk,
  createTestedKeys,
  headerOf,
  json,
  startKeyServer,
  until,
} from '../helpers/key-server.js'
import { verifyWithKeys } from '../helpers/verify-with-keys.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

const a = createJwk('a')
const b = createJwk('b')
const attacker = createJwk('a')

const FAULTS: readonly (readonly [string, Answer])[] = [
  ['an error', json({ keys: [attacker.jwk] }, 500)],
  ['another status', json({ keys: [attacker.jwk] }, 203)],
  ['garbage', (response) => void response.end('<html>')],
  ['an ambiguous set', json({ keys: [a.jwk, attacker.jwk] })],
  ['weak keys only', json({ keys: [{ kty: 'oct', kid: 'other', k: 'AAAA' }] })],
  ['half an answer', (response) => void response.write('{"keys":[', () => response.socket?.destroy())],
  ['a connection that breaks', (response) => void response.socket?.destroy()],
  ['no answer', () => {}],
  ['an empty set', json({ keys: [] })],
]

describeAttacks(
  'a key endpoint that spoils the keys that were loaded (CVE-2026-48524, CVE-2025-22149)',
  () => {
    ownAttack('an answer that is no key set neither empties the keys nor adds any', async () => {
      for (const [name, answer] of FAULTS) {
        const server = await startKeyServer(a.jwk, b.jwk)
        const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true, timeout: '1s' })
        await keys.ready()
        server.answer(answer)
        await keys.advance(601)
        expect(verifyWithKeys(keys, a.privateKey, 'a'), name).toBe(true)
        await until(() => server.requests.length === 2)
        if (name === 'no answer') await keys.advance(1)
        await until(() => keys.failed.length === 1)
        expect(verifyWithKeys(keys, a.privateKey, 'a'), name).toBe(true)
        expect(verifyWithKeys(keys, b.privateKey, 'b'), name).toBe(true)
        expect(verifyWithKeys(keys, attacker.privateKey, 'a'), name).toBe(false)
        expect(server.requests).toHaveLength(2)
      }
    })

    ownAttack('a key that the issuer has removed or replaced is refused after the next load', async () => {
      const server = await startKeyServer(a.jwk, b.jwk)
      const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true })
      await keys.ready()
      const [stolen] = keys.find(headerOf('a')) ?? []
      const replaced = createJwk('b')
      server.publish(replaced.jwk)
      await keys.advance(601)
      keys.find(headerOf('a'))
      await until(() => keys.loaded.length === 2)
      expect(keys.isTrusted(stolen as never)).toBe(false)
      expect(verifyWithKeys(keys, a.privateKey, 'a')).toBe(false)
      expect(verifyWithKeys(keys, b.privateKey, 'b')).toBe(false)
      expect(verifyWithKeys(keys, replaced.privateKey, 'b')).toBe(true)
    })

    ownAttack('an endpoint that is kept down does not keep a stolen key alive for ever', async () => {
      const server = await startKeyServer(a.jwk)
      const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true })
      await keys.ready()
      const [stolen] = keys.find(headerOf('a')) ?? []
      server.answer(json({}, 503))
      await keys.advance(600 + 24 * 3600)
      expect(verifyWithKeys(keys, a.privateKey, 'a')).toBe(true)
      await until(() => keys.failed.length === 1)
      await keys.advance(1)
      expect(keys.isTrusted(stolen as never)).toBe(false)
      expect(keys.find(headerOf('a'))).toBeNull()
      await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    })
  },
)

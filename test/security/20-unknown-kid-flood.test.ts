import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createJwk, createTestedKeys, headerOf, json, startKeyServer, until } from '../helpers/key-server.js'
import { verifyWithKeys } from '../helpers/verify-with-keys.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

const a = createJwk('a')
const b = createJwk('b')
const FLOOD = 10_000

describeAttacks('a flood of unknown kids that makes the verifier fetch (CVE-2026-59396)', () => {
  ownAttack('10,000 at once share one request, and later ones are refused without any', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true })
    await keys.ready()
    await keys.advance(30)
    server.requests.length = 0
    const answers = await Promise.all(Array.from({ length: FLOOD }, () => keys.look(headerOf(randomUUID()))))
    expect(answers.filter((answer) => answer?.length !== 0)).toEqual([])
    expect(server.requests).toHaveLength(1)
    const found = Array.from({ length: FLOOD }, () => keys.find(headerOf(randomUUID()))?.length)
    expect(new Set(found)).toEqual(new Set([0]))
    expect(server.requests).toHaveLength(1)
    expect(verifyWithKeys(keys, a.privateKey, 'a')).toBe(true)
  })

  ownAttack('10,000 before the first load share it as well', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true })
    const answers = await Promise.all(Array.from({ length: FLOOD }, () => keys.look(headerOf(randomUUID()))))
    expect(answers.filter((answer) => answer?.length !== 0)).toEqual([])
    expect(server.requests).toHaveLength(1)
  })

  ownAttack(
    '10,000 over ten minutes cause one request per cool-down, and a new key is found meanwhile',
    async () => {
      const server = await startKeyServer(a.jwk)
      const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true, maxAge: '1h' })
      await keys.ready()
      server.requests.length = 0
      let foundAfter: number | null = null
      for (let at = 1; at <= FLOOD; at++) {
        keys.block(600 / FLOOD)
        if (at === 5000) server.publish(a.jwk, b.jwk)
        expect(await keys.look(headerOf(randomUUID()))).toEqual([])
        if (foundAfter === null && keys.find(headerOf('b'))?.length === 1) foundAfter = (600 * at) / FLOOD
      }
      expect(server.requests.length).toBeGreaterThanOrEqual(19)
      expect(server.requests.length).toBeLessThanOrEqual(20)
      expect(foundAfter).toBeGreaterThanOrEqual(300)
      expect(foundAfter).toBeLessThanOrEqual(331)
    },
  )

  ownAttack('an endpoint that fails is not asked more often', async () => {
    const server = await startKeyServer(a.jwk)
    const keys = createTestedKeys({ jwksUri: server.url, allowPrivateNetwork: true, maxAge: '1h' })
    await keys.ready()
    server.answer(json({}, 500))
    server.requests.length = 0
    for (let at = 0; at < 1000; at++) {
      await keys.advance(0.3)
      expect(await keys.look(headerOf(randomUUID()))).toEqual([])
    }
    expect(server.requests.length).toBeLessThanOrEqual(10)
    await until(() => keys.failed.length === server.requests.length)
  })
})

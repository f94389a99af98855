import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { decideRotation, FOREVER, type PresentedToken, ROOT, toRotation } from 'tokenlib/kit'
import { createRedisStore } from 'tokenlib/redis'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { toTimedId } from '../../packages/tokenlib/src/tokens/ids.js'
import type { SessionClient } from '../../packages/tokenlib/src/events.js'
import type { SessionStore } from '../../packages/tokenlib/src/revocation/session-store.js'
import { childOf, firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const NOW = Date.UTC(2030, 0, 1)
const END = NOW + HOUR
const GRACE = 10_000
const IDLE = 100_002
const RULES = { graceMs: GRACE, idleMs: IDLE }
const FIRST_CLIENT = { ip: '192.0.2.1', userAgent: 'First' }
const SECOND_CLIENT = { ip: '192.0.2.2', userAgent: null }
const NO_CLIENT = { ip: null, userAgent: null }

describeWithRedis('a rotation in Redis', (url) => {
  const client = new Redis(url)
  afterAll(() => client.disconnect())

  let now: number
  let commands: string[]
  let key: (name: string) => string
  let sessions: SessionStore
  const rotate = (sid: string, token: PresentedToken, given: SessionClient = SECOND_CLIENT) =>
    sessions.rotate(sid, token, { ...RULES, ...given })
  const find = (sid: string) => sessions.get(sid, { idleMs: FOREVER })
  const open = async (given = {}): Promise<string> => {
    const nonce = 'A'.repeat(14)
    const session = { user: 'ada', nonce, expiresAt: END, until: END, ...FIRST_CLIENT, ...given }
    return (await sessions.open(session)).sid
  }
  // Packs each row as the store does, with false for null.
  const writeRows = (rows: readonly (readonly [sid: string, row: readonly unknown[]])[]) =>
    client.eval(
      `for at, row in ipairs(cjson.decode(ARGV[1])) do redis.call('SET', KEYS[at], cmsgpack.pack(row)) end`,
      rows.length,
      ...rows.map(([sid]) => key(`s:${sid}`)),
      JSON.stringify(rows.map(([, row]) => row)),
    )

  beforeEach(async () => {
    now = NOW
    commands = []
    const namespace = `rotation-${randomUUID()}`
    key = (name) => `{tokenlib:${namespace}}:${name}`
    onTestFinished(async () => void (await client.del(key('x'), ...(await client.keys(key('*'))))))
    const watched = {
      async call(command: string, args: string[]) {
        commands.push(command)
        return client.call(command, ...args)
      },
    }
    const store = createRedisStore(watched, { namespace, clock: () => now })
    await store.prepare({ longestLifetime: HOUR })
    sessions = store.sessions as SessionStore
    // From then on the server knows the scripts.
    await rotate('unknown', firstToken('unknown'))
    await sessions.present('unknown', firstToken('unknown'), RULES)
    await find('unknown')
  })

  test('answers and writes what decideRotation says, at each of its limits', async () => {
    const ages = [0, Math.floor(IDLE / 4), Math.ceil(IDLE / 4), IDLE, IDLE + 1]
    const moves = [1, GRACE - 1, GRACE, 1 - GRACE, -GRACE]
    const tokens = [
      ...[0, GRACE - 1, GRACE, 1 - GRACE, -GRACE, IDLE, IDLE + 1].map((age) => ({ parent: 'parent', age })),
      { parent: ROOT, age: 0 },
    ].map(({ parent, age }) => ({ id: 'token', parent, generation: 5, issuedAt: NOW - age }))
    const cases = tokens.flatMap((token) =>
      ['token', token.parent, 'other'].flatMap((current) =>
        [token.parent, 'token', null].flatMap((previous) =>
          [2, 3, 4, 5].flatMap((generation) =>
            ages.map((age, at) => ({
              sid: '',
              token,
              place: { current, previous, generation, movedAt: NOW - moves[at]!, lastUsedAt: NOW - age },
            })),
          ),
        ),
      ),
    )
    for (const [at, one] of cases.entries()) one.sid = toTimedId(NOW, String(at).padStart(14, '0'))
    const { ip, userAgent } = FIRST_CLIENT
    // Rows without data are shorter.
    const dataOf = (at: number): string | null => (at % 2 === 0 ? null : '{"a":1}')
    await writeRows(
      cases.map(({ sid, place: { generation, lastUsedAt, current, previous, movedAt } }, at) => [
        sid,
        [
          'ada',
          generation,
          NOW - HOUR,
          lastUsedAt,
          END,
          END,
          ip,
          userAgent,
          0,
          current,
          previous ?? false,
          movedAt,
          ...[dataOf(at)].filter((data) => data !== null),
        ],
      ]),
    )

    const answers = await Promise.all(cases.map(({ sid, token }) => rotate(sid, token)))
    const found = await Promise.all(cases.map(({ sid }) => find(sid)))

    const outcomes = new Set<string>()
    const expected = cases.map(({ sid, token, place }, at) => {
      const decision = decideRotation({ ...place, until: END, isRevoked: false }, token, RULES, NOW)
      const written = 'place' in decision ? decision.place : null
      outcomes.add(`${decision.outcome}${written === null ? '' : ', written'}`)
      const before = { ...place, ...FIRST_CLIENT, expiresAt: END }
      const ip = decision.outcome === 'advance' ? SECOND_CLIENT.ip : FIRST_CLIENT.ip
      const after = { ...before, sid, user: 'ada', startedAt: NOW - HOUR, ...written, ip, data: dataOf(at) }
      return [toRotation(decision, before, NOW), decision.outcome === 'reuse' ? null : after]
    })
    expect(cases.map((_, at) => [answers[at], found[at]])).toEqual(expected)
    expect([...outcomes].toSorted()).toEqual([
      'advance, written',
      'end',
      'keep',
      'keep, written',
      'repeat',
      'repeat, written',
      'reuse',
      'superseded',
    ])
  })

  test('is one command, whatever comes of it', async () => {
    const sid = await open()
    const first = firstToken(sid)
    commands = []
    const outcomes: string[] = []
    outcomes.push((await rotate(sid, first)).outcome, (await rotate(sid, first)).outcome)
    const [child, sibling] = [childOf(first, now), childOf(first, now)]
    outcomes.push((await rotate(sid, child)).outcome)
    now += GRACE
    outcomes.push((await rotate(sid, child)).outcome, (await rotate(sid, sibling)).outcome)
    outcomes.push((await sessions.present(sid, sibling, RULES)).outcome)
    now += GRACE
    outcomes.push((await rotate(sid, sibling)).outcome, (await rotate(sid, child)).outcome)
    expect(outcomes).toEqual([
      'advanced',
      'repeated',
      'kept',
      'advanced',
      'superseded',
      'superseded',
      'reused',
      'ended',
    ])
    expect(commands).toEqual(outcomes.map(() => 'EVALSHA'))
  })

  test('leaves a row of the same size, however often a session moves on', async () => {
    const sid = await open()
    const sizes = new Set<number>()
    let token = firstToken(sid)
    // Beyond 127, MessagePack needs another byte for the generation.
    for (let generation = 1; generation < 128; generation++) {
      now += GRACE
      expect((await rotate(sid, token)).outcome).toBe('advanced')
      if (generation > 2) sizes.add(await client.strlen(key(`s:${sid}`)))
      token = { ...childOf(token, now), id: `id ${generation}`.padEnd(22) }
    }
    expect([...sizes]).toEqual([expect.any(Number)])
  })

  test('keeps numbers beyond 32 bits, and what is null', async () => {
    const sid = await open({ ...NO_CLIENT, expiresAt: FOREVER, until: FOREVER })
    const generation = 2 ** 52
    const ahead = { id: 'child', parent: 'parent', generation, issuedAt: NOW }
    expect(await rotate(sid, ahead, NO_CLIENT)).toEqual({
      outcome: 'kept',
      now: NOW,
      movedAt: NOW,
      expiresAt: FOREVER,
      client: NO_CLIENT,
    })
    const adopted = {
      current: 'parent',
      previous: null,
      generation: generation - 1,
      movedAt: 0,
      lastUsedAt: NOW,
    }
    const session = { sid, user: 'ada', startedAt: NOW, expiresAt: FOREVER, ...NO_CLIENT, data: null }
    expect(await find(sid)).toEqual({ ...session, ...adopted })
    now += GRACE
    expect((await rotate(sid, ahead, NO_CLIENT)).outcome).toBe('advanced')
    const moved = { current: 'child', previous: 'parent', generation, movedAt: now, lastUsedAt: now }
    expect(await find(sid)).toEqual({ ...session, ...moved })
  })
})

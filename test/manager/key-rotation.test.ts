import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { OwnKey, TokenManager } from '../../packages/tokenlib/src/index.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { NOW, openToken } from '../helpers/manager.js'
import { createKeyManager } from '../helpers/own-keys.js'

// As few as drop the first key from the lists before the end.
const ROTATIONS = 7
const PERIOD_MS = 500
const STEP_MS = 100
const LIFETIME_SECONDS = 1
const LEEWAY_SECONDS = 1
const ACCEPTED_MS = (LIFETIME_SECONDS + LEEWAY_SECONDS) * 1000
// A token of the process that is most ahead is 0.8 seconds in the future of the one that is most behind.
const OFFSETS_MS = [400, 100, -100, -400]
const MAX_OFFSET_MS = 400

// A token counts whole seconds. Right before every second key starts, a second begins, and its tokens live longest.
const START_MS = NOW * 1000 + 2000 + STEP_MS
const startOf = (index: number): number => START_MS + index * PERIOD_MS

const MATERIAL = Array.from({ length: ROTATIONS + 1 }, (_, index) => ({
  kid: `key ${index}`,
  algorithm: 'HS256' as const,
  secret: createHash('sha256').update(String(index)).digest(),
}))

interface Process {
  readonly tokens: TokenManager
  readonly clock: () => number
  /** The keys that it has signed with. */
  readonly kids: Set<unknown>
}

interface Outcome {
  readonly processes: readonly Process[]
  /** The `kid` of each token that a process refused before it expired, with the code. */
  readonly refused: readonly string[]
  /** The code with which each process refuses the first token in the end. */
  readonly first: readonly string[]
}

/**
 * Processes with the same keys and clocks of their own. In each step, each of them makes a token. All of them verify it
 * then, and right before it expires.
 */
function run(
  keys: readonly OwnKey[],
  rotate: (process: Process, index: number, now: number) => void,
): Outcome {
  let now = NOW * 1000
  const processes = OFFSETS_MS.map((offset): Process => {
    const clock = Object.assign(() => now + offset, { seconds: NOW })
    const fields = {
      JWT_ACCESS_TOKEN_EXPIRES: LIFETIME_SECONDS,
      JWT_REFRESH_TOKEN_EXPIRES: LIFETIME_SECONDS,
      JWT_DECODE_LEEWAY: LEEWAY_SECONDS,
    }
    return { tokens: createKeyManager(keys, { fields, clock }).tokens, clock, kids: new Set() }
  })
  const made: { token: string; kid: unknown; isNew: boolean; refusedFrom: number }[] = []
  const refused: string[] = []
  for (; now < startOf(ROTATIONS + 2); now += STEP_MS) {
    processes.forEach((process, index) => rotate(process, index, now))
    for (const { tokens, kids } of processes) {
      const token = tokens.createAccessToken({ uid: 'ada' })
      const { header, claims } = openToken(token)
      kids.add(header['kid'])
      const refusedFrom = (Number(claims['exp']) + LEEWAY_SECONDS) * 1000
      made.push({ token, kid: header['kid'], isNew: true, refusedFrom })
    }
    for (const each of made) {
      for (const { tokens, clock } of processes) {
        const leftMs = each.refusedFrom - clock()
        if (leftMs <= 0 || (!each.isNew && leftMs > STEP_MS)) continue
        const code = readCode(tokens, each.token)
        if (code !== 'ok') refused.push(`${String(each.kid)}: ${code}`)
      }
      each.isNew = false
    }
  }
  return { processes, refused, first: processes.map(({ tokens }) => readCode(tokens, made[0]?.token ?? '')) }
}

function readCode(tokens: TokenManager, token: string): string {
  try {
    internalsOf(tokens).verifyWithoutRevocation(token)
    return 'ok'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

function expectNoRefusal({ processes, refused, first }: Outcome): void {
  expect(refused).toEqual([])
  for (const { kids } of processes) expect([...kids]).toEqual(MATERIAL.map(({ kid }) => kid))
  expect(new Set(first)).toEqual(new Set(['TOKEN_SIGNATURE_INVALID']))
}

/** The list that is set before a key starts. Old keys are in it until their tokens have expired by every clock. */
function listBefore(index: number): readonly OwnKey[] {
  const now = startOf(index) - PERIOD_MS
  return MATERIAL.map((key, place) => ({
    ...key,
    ...(place > 0 && { notBefore: new Date(startOf(place)) }),
  })).filter((_, place) => place <= index && startOf(place + 1) + ACCEPTED_MS > now - MAX_OFFSET_MS)
}

/** Sets the list of each key at some time before the key starts, in each process a step later than in the one before. */
function setLists(aheadMs: number) {
  return ({ tokens }: Process, process: number, now: number): void => {
    const index = (now - process * STEP_MS + aheadMs - START_MS) / PERIOD_MS
    if (Number.isInteger(index) && index > 0 && index <= ROTATIONS) tokens.keys.set(listBefore(index))
  }
}

describe('processes whose clocks differ refuse no token of each other while their keys rotate', () => {
  test('by the dates of one list', () => {
    const list = MATERIAL.map((key, index) => ({
      ...key,
      ...(index > 0 && { notBefore: new Date(startOf(index)) }),
      ...(index < ROTATIONS && { retireAt: new Date(startOf(index + 1) + ACCEPTED_MS) }),
    }))
    expectNoRefusal(run(list, () => {}))
  })

  // The first process is 400 ms ahead, and the last one gets its list 300 ms after the first.
  test('by keys.set, which reaches each process at another moment', () => {
    expectNoRefusal(run(listBefore(0), setLists(700)))
  })

  test('but do if a list comes too late', () => {
    const { refused } = run(listBefore(0), setLists(600))
    expect(refused).toHaveLength(ROTATIONS)
    expect(new Set(refused.map((text) => text.split(': ')[1]))).toEqual(new Set(['TOKEN_SIGNATURE_INVALID']))
  })
})

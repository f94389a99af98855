import { describe, expect, test } from 'vitest'
import { checkHistory, type Condition, EARLY } from './check-history.js'
import { type Fault, type History, type Operation, STARVED } from './history.js'

const BOUND = 100

const revoke = (t1: number, given: Partial<Operation> = {}): Operation => ({
  process: 'revoker',
  life: 1,
  op: 'revoke',
  key: 'token:a',
  t0: t1 - 1,
  t1,
  result: 'ok',
  ...given,
})
const check = (t0: number, result: Operation['result'], given: Partial<Operation> = {}): Operation => ({
  process: 'verifier',
  life: 1,
  op: 'check',
  key: 'token:a',
  start: EARLY,
  t0,
  t1: t0 + 1,
  result,
  ...given,
})
const read = (t0: number, given: Partial<Operation> = {}): Operation => ({
  process: 'verifier',
  life: 1,
  op: 'read',
  key: '',
  t0,
  t1: t0 + 5,
  result: 'ok',
  ageMs: 0,
  ...given,
})
const state = (t0: number, ageMs: number): Operation => ({
  process: 'verifier',
  life: 1,
  op: 'state',
  key: '',
  t0,
  t1: t0,
  result: 'ok',
  ageMs,
})
const loss = (t0: number, given: Partial<Fault> = {}): Fault => ({
  kind: 'loss',
  t0,
  t1: t0 + 10,
  processes: null,
  lost: { from: 0, to: t0 + 10 },
  ...given,
})

/** The verifier is led to a primary that refuses to answer from 300 on; the new one is there from 100 on. */
const isolation: Fault = {
  kind: 'isolated',
  t0: 50,
  t1: 600,
  processes: ['verifier'],
  isolated: { from: 100, until: 300 },
}

/** Reads often enough for every answer; those who read are fresh. */
const READS = Array.from({ length: 300 }, (_, at) => read(at * 10))
const OTHER_READS = READS.flatMap((one) => [
  { ...one, process: 'revoker' },
  { ...one, life: 2 },
])

function conditions(
  operations: readonly Operation[],
  faults: readonly Fault[] = [],
  reads = READS,
): Condition[] {
  const history: History = {
    boundMs: BOUND,
    restoreMs: 200,
    wallLeadMs: 1_000_000,
    operations: [...reads, ...OTHER_READS, ...operations],
    faults,
  }
  return checkHistory(history).map(({ condition }) => condition)
}

describe('C1, bounded', () => {
  test.each<[string, Condition[], Operation[], Fault[]]>([
    ['within the bound', [], [revoke(10), check(110, 'valid')], []],
    ['after the bound', ['C1'], [revoke(10), check(111, 'valid')], []],
    ['refused or unavailable after it', [], [revoke(10), check(500, 'revoked')], []],
    [
      'a revocation that failed creates nothing',
      [],
      [revoke(10, { result: 'failed' }), check(500, 'valid')],
      [],
    ],
    ['lost, and being restored', [], [revoke(10), check(300, 'valid')], [loss(200)]],
    ['lost, but not yet at the time of the check', ['C1'], [revoke(10), check(150, 'valid')], [loss(200)]],
    [
      'lost, and restored later, because there was more to read',
      [],
      [revoke(10), check(411, 'valid'), ...Array.from({ length: 5 }, () => revoke(10))],
      [loss(200)],
    ],
    ['lost, and not restored in time', ['C1'], [revoke(10), check(411, 'valid')], [loss(200)]],
    [
      'restored late, because the machine ran others',
      [],
      [revoke(10), check(500, 'valid')],
      [loss(200), { kind: STARVED, t0: 300, t1: 400, processes: ['revoker'] }],
    ],
    [
      'acknowledged before what was lost',
      ['C1'],
      [revoke(10), check(300, 'valid')],
      [loss(200, { lost: { from: 11, to: 210 } })],
    ],
    ['revoked while it was isolated', [], [revoke(110), check(400, 'valid')], [isolation]],
    [
      'a position of what was revoked while it was isolated',
      [],
      [revoke(110), check(400, 'valid', { atLeast: true })],
      [isolation],
    ],
    ['isolated, and too late', ['C1'], [revoke(110), check(401, 'valid')], [isolation]],
    ['revoked before it was isolated', ['C1'], [revoke(90), check(200, 'valid')], [isolation]],
    [
      'another process was isolated',
      ['C1'],
      [revoke(110), check(300, 'valid')],
      [{ ...isolation, processes: ['other'] }],
    ],
    [
      'a login after a watermark',
      [],
      [revoke(10, { key: 'user:a' }), check(500, 'valid', { key: 'user:a', start: 1_000_011 })],
      [],
    ],
  ])('%s', (_, expected, operations, faults) => {
    expect(conditions(operations, faults)).toEqual(expected)
  })
})

describe('C2, monotone', () => {
  test.each<[string, Condition[], Operation[], Fault[]]>([
    ['valid after revoked', ['C2'], [revoke(10), check(20, 'revoked'), check(30, 'valid')], []],
    ['valid while it was being refused', [], [revoke(10), check(20, 'revoked'), check(20.5, 'valid')], []],
    ['a loss is no excuse', ['C2'], [revoke(10), check(20, 'revoked'), check(220, 'valid')], [loss(200)]],
    [
      'but for a process that was restarted',
      [],
      [revoke(10), check(20, 'revoked'), check(220, 'valid', { life: 2 })],
      [loss(200)],
    ],
    [
      'restarted, and nothing was lost',
      ['C2'],
      [revoke(10), check(20, 'revoked'), check(30, 'valid', { life: 2 })],
      [],
    ],
    [
      'another process',
      [],
      [revoke(10), check(20, 'revoked', { process: 'revoker' }), check(30, 'valid')],
      [],
    ],
  ])('%s', (_, expected, operations, faults) => {
    expect(conditions(operations, faults)).toEqual(expected)
  })
})

describe('C3, no wrong refusal', () => {
  const user = (result: Operation['result'], start: number): Operation =>
    check(500, result, { key: 'user:a', start })
  test('a watermark of a store whose clock was ahead, and no other', () => {
    const operations = [revoke(10, { key: 'user:a' }), user('revoked', 1_000_060)]
    const ahead = (t0: number): Fault => ({ kind: 'clock', t0, t1: t0 + 5, processes: null, clockLeadMs: 50 })
    expect(conditions(operations, [ahead(8)])).toEqual([])
    expect(conditions(operations, [ahead(11)])).toEqual(['C3'])
    expect(conditions([...operations, user('revoked', 1_000_061)], [ahead(8)])).toEqual(['C3'])
    // It reaches sessions that were opened before the clock was set right.
    expect(conditions([revoke(20, { key: 'user:a' }), user('revoked', 1_000_063)], [ahead(8)])).toEqual([])
    expect(conditions([revoke(20, { key: 'user:a' }), user('revoked', 1_000_064)], [ahead(8)])).toEqual([
      'C3',
    ])
  })

  test.each<[string, Condition[], Operation[]]>([
    ['nobody revoked it', ['C3'], [check(20, 'revoked')]],
    ['somebody did later', ['C3'], [check(20, 'revoked'), revoke(40)]],
    ['somebody tried', [], [revoke(10, { result: 'failed' }), check(20, 'revoked')]],
    ['a login after a watermark', ['C3'], [revoke(10, { key: 'user:a' }), user('revoked', 1_000_011)]],
    ['a login before a watermark', [], [revoke(10, { key: 'user:a' }), user('revoked', 1_000_009)]],
  ])('%s', (_, expected, operations) => {
    expect(conditions(operations)).toEqual(expected)
  })
})

describe('C4, at once', () => {
  test.each<[string, Condition[], Operation[], Fault[]]>([
    ['at the process that revoked', ['C4'], [revoke(10), check(11, 'valid', { process: 'revoker' })], []],
    ['before it was acknowledged', [], [revoke(10), check(9.5, 'valid', { process: 'revoker' })], []],
    ['with its position', ['C4'], [revoke(10), check(11, 'valid', { atLeast: true })], []],
    ['with a position that is lost', [], [revoke(10), check(220, 'valid', { atLeast: true })], [loss(200)]],
    [
      'what is lost is still known to the process that revoked',
      ['C4'],
      [revoke(10), check(220, 'valid', { process: 'revoker' })],
      [loss(200)],
    ],
  ])('%s', (_, expected, operations, faults) => {
    expect(conditions(operations, faults)).toEqual(expected)
  })
})

test('C5: whatever was acknowledged is everywhere at the end', () => {
  const last = { isFinal: true } as const
  expect(conditions([revoke(10), check(50, 'valid', { ...last, process: 'store' })])).toEqual(['C5'])
  expect(conditions([revoke(10), check(50, 'unavailable', last), check(60, 'revoked', last)])).toEqual([])
  expect(conditions([revoke(10, { result: 'failed' }), check(50, 'valid', last)])).toEqual([])
})

describe('C6, sessions', () => {
  const use = (t0: number, given: Partial<Operation>): Operation =>
    check(t0, 'ok', { op: 'rotate', key: 'session:s', process: 'client', presented: 'a', ...given })
  test.each<[string, Condition[], Operation[], Fault[]]>([
    ['one successor, used again', [], [use(10, { movedFrom: 'root' }), use(10, {})], []],
    ['two successors', ['C6'], [use(10, { movedFrom: 'root' }), use(10, { movedFrom: 'root' })], []],
    [
      'a move that was lost',
      [],
      [use(10, { movedFrom: 'root' }), use(900, { movedFrom: 'root' })],
      [loss(200)],
    ],
    ['on after a reuse', ['C6'], [use(10, { result: 'reused' }), use(20, { op: 'present' })], []],
    ['on after it was ended', ['C6'], [use(10, { op: 'end' }), use(20, { movedFrom: 'root' })], []],
    ['at the same time as its end', [], [use(10, { op: 'end' }), use(10.5, {})], []],
    ['an end that failed', [], [use(10, { op: 'end', result: 'failed' }), use(20, {})], []],
    ['the end is lost, and being restored', [], [use(10, { result: 'reused' }), use(300, {})], [loss(200)]],
    ['the end is not restored', ['C6'], [use(10, { result: 'reused' }), use(411, {})], [loss(200)]],
  ])('%s', (_, expected, operations, faults) => {
    expect(conditions(operations, faults)).toEqual(expected)
  })
})

test('C7: without a fault in the last two bounds nothing is refused', () => {
  const fault = (processes: string[] | null): Fault => ({ kind: 'cut', t0: 10, t1: 20, processes })
  const refused = check(220, 'unavailable')
  expect(conditions([refused])).toEqual(['C7'])
  expect(conditions([refused], [fault(null)])).toEqual([])
  expect(conditions([refused], [fault(['verifier'])])).toEqual([])
  expect(conditions([refused], [fault(['revoker'])])).toEqual(['C7'])
  expect(conditions([check(221, 'unavailable')], [fault(null)])).toEqual(['C7'])
})

test('C8: an age is one that the reads allow, and so is an answer', () => {
  const reads = [read(100)]
  // It arrived at 105.
  expect(conditions([state(150, 50)], [], reads)).toEqual([])
  expect(conditions([state(150, 45)], [], reads)).toEqual(['C8'])
  expect(conditions([state(102, 2)], [], reads)).toEqual(['C8'])
  expect(conditions([check(200, 'valid')], [], reads)).toEqual([])
  expect(conditions([check(202, 'valid')], [], reads)).toEqual(['C8'])
  expect(conditions([check(202, 'valid', { mayAsk: true })], [], reads)).toEqual([])
  expect(conditions([check(150, 'valid')], [], [read(100, { ageMs: 60 })])).toEqual(['C8'])
  expect(conditions([check(150, 'valid')], [], [read(100, { result: 'failed' })])).toEqual(['C8'])
})

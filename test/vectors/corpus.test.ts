import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { answerKeys, toOneAnswer } from './answers.js'
import { foldCaseIds, parseCaseIds } from './case-ids.js'
import { type CaseResult, type ExceptionEntry, tallyCorpus } from './corpus.js'

const passing: CaseResult = { id: '1', label: 'refused', answer: 'refused' }
const strange: CaseResult = { id: '2', label: 'accepted', answer: 'refused' }
const listed: ExceptionEntry = { kind: 'policy', ids: '2', reason: 'we said so', isProven: () => true }

describe('tallyCorpus', () => {
  test('a listed and proven exception is counted apart', () => {
    expect(tallyCorpus('x', [passing, strange], [listed])).toMatchObject({
      cases: 2,
      passed: 1,
      policy: 1,
      errors: 0,
      exceptions: [{ kind: 'policy', ids: '2', reason: 'we said so' }],
      unexplained: [],
    })
  })

  test('an error of the corpus is counted apart from a policy', () => {
    const result = tallyCorpus('x', [passing, strange], [{ ...listed, kind: 'corpus error' }])
    expect(result).toMatchObject({ passed: 1, policy: 0, errors: 1, unexplained: [] })
  })

  test.each<[string, CaseResult[], ExceptionEntry[], string]>([
    ['answered otherwise than labelled', [strange], [], '2: is labelled accepted, and is refused'],
    ['accepted, although it is bad', [{ ...passing, answer: 'accepted' }], [], '1: is labelled refused'],
    [
      'no longer an exception',
      [{ ...strange, answer: 'accepted' }],
      [listed],
      '2: is listed as an exception',
    ],
    ['listed for a wrong reason', [strange], [{ ...listed, isProven: () => false }], '2: the listed reason'],
    [
      'listed for a reason that cannot be tried',
      [strange],
      [{ ...listed, isProven: () => fail() }],
      '2: the listed reason',
    ],
    ['listed, and no case', [passing], [listed], '2: is listed as an exception, but is no case'],
    ['a failure, listed or not', [{ ...strange, answer: 'failed: x' }], [listed], '2: failed: x'],
    ['in doubt', [{ ...passing, doubt: 'for nothing' }], [], '1: for nothing'],
    ['not offered, and not listed', [{ ...passing, answer: 'not offered' }], [], '1: is labelled refused'],
  ])('a case that is %s is unexplained', (_, results, entries, line) => {
    const { unexplained } = tallyCorpus('x', results, entries)
    expect(unexplained).toEqual([expect.stringContaining(line)])
  })

  test('an id that is there twice is refused', () => {
    expect(() => tallyCorpus('x', [passing, passing], [])).toThrow('two cases')
    expect(() => tallyCorpus('x', [strange], [listed, listed])).toThrow('listed twice')
  })
})

test('only our own errors are a refusal', () => {
  expect(answerKeys(() => fail(new ConfigurationError('no')))).toBe('refused')
  expect(answerKeys(() => fail(new RangeError('deep')))).toBe('failed: RangeError, deep')
  expect(answerKeys(() => 1)).toBe('accepted')
})

test('answers that differ are a failure', () => {
  expect(toOneAnswer(['refused', 'refused'])).toBe('refused')
  expect(toOneAnswer(['refused', 'accepted'])).toMatch(/^failed: /)
  expect(toOneAnswer([])).toMatch(/^failed: /)
})

test('ids are folded and unfolded', () => {
  expect(parseCaseIds('1-3, 7, 4.1 json')).toEqual(['1', '2', '3', '7', '4.1 json'])
  expect(foldCaseIds(['1', '2', '3', '7', '9', '10', '4.1 json'])).toBe('1-3, 7, 9-10, 4.1 json')
})

function fail(error: unknown = new Error('cannot')): never {
  throw error
}

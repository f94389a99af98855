import { describe, expect, test } from 'vitest'
import {
  anyText,
  assertOptions,
  callable,
  choice,
  count,
  duration,
  flag,
  type Kind,
  listOf,
  oneOrMore,
  type OptionKinds,
  orNull,
  parseOptions,
  recordOf,
  required,
  text,
  unchecked,
  unknownName,
  wholeSeconds,
} from '../packages/tokenlib/src/options.js'

const NAMES = { revocation: true, config: true, clock: true } as const

test('known names pass, whatever their values', () => {
  expect(() => assertOptions('f()', {}, NAMES)).not.toThrow()
  expect(() => assertOptions('f()', { config: 1, revocation: undefined }, NAMES)).not.toThrow()
})

test.each([
  ['revokation', 'revocation'],
  ['Config', 'config'],
  ['clokc', 'clock'],
])('an unknown name is refused with the nearest known one: %s', (name, nearest) => {
  const call = () => assertOptions('new TokenManager()', { [name]: undefined }, NAMES)
  expect(call).toThrow(TypeError)
  expect(call).toThrow(`Unknown option "${name}" of new TokenManager(); did you mean "${nearest}"?`)
})

test('a name that is like none of the known ones is refused with all of them', () => {
  expect(() => assertOptions('f()', { toString: undefined }, NAMES)).toThrow(
    new TypeError('Unknown option "toString" of f(). Known: revocation, config, clock'),
  )
})

test('no name is suggested that is not close', () => {
  expect(unknownName('option', 'tenant', ['clock', 'config'])).toBe('Unknown option "tenant"')
})

test.each([null, undefined, 'revocation', 7, true, [{}], () => ({})])(
  'options that are %s are refused',
  (options) => {
    expect(() => assertOptions('f()', options, NAMES)).toThrow(
      new TypeError('The options of f() must be an object'),
    )
  },
)

test.each([
  new Map(),
  new Date(),
  new Request('http://localhost/'),
  Promise.resolve(),
  Object.create({ config: 1 }),
])('an object of another kind does not pass for no options', (options: unknown) => {
  expect(() => assertOptions('f()', options, NAMES)).toThrow(TypeError)
})

test('options may be made by a class, or without a prototype', () => {
  class Options {
    config = 1
  }
  expect(() => assertOptions('f()', new Options(), NAMES)).not.toThrow()
  expect(() => assertOptions('f()', Object.create(null), NAMES)).not.toThrow()
})

test('a name without limit is compared only as far as needed', () => {
  expect(unknownName('option', 'x'.repeat(1_000_000), ['config'])).toContain('"config"')
})

describe('a table of kinds', () => {
  interface ListOptions {
    readonly uid: string
    readonly names?: string | readonly string[]
    readonly isOpen?: boolean | undefined
  }
  const KINDS: OptionKinds<ListOptions> = { uid: required(text), names: oneOrMore(text), isOpen: flag }
  const parse = (given: object) => parseOptions('list()', given as ListOptions, KINDS)

  test('gives a copy of options that fit it, without those that are undefined', () => {
    const names = ['a']
    const parsed = parse({ uid: 'ada', names, isOpen: undefined })
    expect(parsed).toEqual({ uid: 'ada', names: ['a'] })
    expect(Object.keys(parsed)).toEqual(['uid', 'names'])
    names.push('b')
    expect(parsed.names).toEqual(['a'])
  })

  test.each<[given: object, message: string]>([
    [{ uid: 'ada', isOpn: true }, 'Unknown option "isOpn" of list(); did you mean "isOpen"?'],
    [{}, 'uid must be a non-empty string'],
    [{ uid: 'ada', isOpen: 1 }, 'isOpen must be true or false'],
    [
      { uid: 'ada', names: [] },
      'names must be a non-empty string, or a non-empty list, each a non-empty string',
    ],
  ])('refuses %o', (given, message) => {
    expect(() => parse(given)).toThrow(new TypeError(message))
  })

  test('says that a single value will do where a list is optional', () => {
    const parseOne = () => parseOptions('f()', { names: 7 }, { names: oneOrMore(text) })
    expect(parseOne).toThrow(
      new TypeError('names must be a non-empty string, or a non-empty list, each a non-empty string'),
    )
  })

  test('may create another error for a wrong value, but not for an unknown name', () => {
    const toError = (problem: string) => new RangeError(`list: ${problem}`)
    const parseAs = (given: object) => parseOptions('list()', given as ListOptions, KINDS, {}, toError)
    expect(() => parseAs({ uid: '' })).toThrow(new RangeError('list: uid must be a non-empty string'))
    expect(() => parseAs({ uid: 'ada', isOpn: true })).toThrow(TypeError)
  })

  test('suggests the name that was meant', () => {
    const parseAs = (given: object) => parseOptions('list()', given as ListOptions, KINDS, { open: 'isOpen' })
    expect(() => parseAs({ uid: 'ada', open: true })).toThrow('did you mean "isOpen"?')
  })

  test('reads what the options inherit from a class', () => {
    class Defaults {
      isOpen = true
      get names() {
        return ['a']
      }
    }
    expect(parse(Object.assign(new Defaults(), { uid: 'ada' }))).toEqual({
      uid: 'ada',
      names: ['a'],
      isOpen: true,
    })
    const invalid = Object.assign(Object.create({ names: '' }) as object, { uid: 'ada' })
    expect(() => parse(invalid)).toThrow('names must be a non-empty string, or a non-empty list')
  })

  test('reads nothing that every object inherits', () => {
    Reflect.set(Object.prototype, 'isOpen', true)
    try {
      expect(parse({ uid: 'ada' })).toEqual({ uid: 'ada' })
    } finally {
      Reflect.deleteProperty(Object.prototype, 'isOpen')
    }
  })

  test('must have the kind of every option', () => {
    // @ts-expect-error `isOpen` is missing
    const missing: OptionKinds<ListOptions> = { uid: text, names: oneOrMore(text) }
    // @ts-expect-error `isOpen` is no text
    const wrong: OptionKinds<ListOptions> = { ...KINDS, isOpen: text }
    expect([missing, wrong]).toHaveLength(2)
  })
})

test.each<[name: string, kind: Kind<unknown>, valid: unknown[], invalid: unknown[]]>([
  ['text', text, ['a'], ['', 1, null, undefined, ['a']]],
  ['anyText', anyText, ['a', ''], [1, null, undefined]],
  ['choice', choice(['a', 'b']), ['a', 'b'], ['c', 'toString', '', ['a']]],
  ['choice of numbers', choice([1, 2]), [1, 2], [3, '1']],
  ['flag', flag, [true, false], [0, 'true', null]],
  ['count', count(1), [1, 2 ** 31], [0, -1, 1.5, '1', Number.NaN, Infinity]],
  ['count up to a maximum', count(0, 2), [0, 2], [-1, 3]],
  ['duration', duration(), [0, '15m', 'PT1M'], [-1, '', '15', 'soon', null]],
  ['wholeSeconds', wholeSeconds, [1, '15m'], [0, 0.5, '500ms', 'soon']],
  ['callable', callable(), [() => 1], [{}, null]],
  ['unchecked', unchecked(), [1, null, {}], []],
  ['recordOf', recordOf(text), [{}, { a: 'b' }], [{ a: 1 }, [], null, 'a', new Map(), new Headers()]],
  ['orNull', orNull(text), [null, 'a'], ['', 1]],
  ['listOf', listOf(text), [['a']], ['a', [], ['']]],
  ['listOf, empty too', listOf(text, 0), [[], ['a']], ['a', ['']]],
  ['oneOrMore', oneOrMore(text), ['a', ['a', 'b']], ['', [], [''], [['a']]]],
])('%s', (_name, kind, valid, invalid) => {
  for (const value of valid) expect(kind.isValid(value)).toBe(true)
  for (const value of invalid) expect(kind.isValid(value)).toBe(false)
})

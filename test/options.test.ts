import { expect, test } from 'vitest'
import { assertOptions, unknownName } from '../packages/tokenlib/src/options.js'

const NAMES = { revocation: true, config: true, clock: true } as const

test('known names pass, whatever their values', () => {
  expect(() => assertOptions('f()', {}, NAMES)).not.toThrow()
  expect(() => assertOptions('f()', { config: 1, revocation: undefined }, NAMES)).not.toThrow()
})

test.each([
  ['revokation', 'revocation'],
  ['Config', 'config'],
  ['clokc', 'clock'],
  ['toString', 'config'],
])('an unknown name is refused with the nearest known one: %s', (name, nearest) => {
  const call = () => assertOptions('new TokenManager()', { [name]: undefined }, NAMES)
  expect(call).toThrow(TypeError)
  expect(call).toThrow(`Unknown option "${name}" of new TokenManager(); did you mean "${nearest}"?`)
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

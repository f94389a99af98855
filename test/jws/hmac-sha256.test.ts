import crypto, { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { isSignature } from '../../packages/tokenlib/src/tokens/algorithms.js'
import { createFastMacCheck, type FastMacCheck } from '../../packages/tokenlib/src/tokens/hmac-sha256.js'
import { bindSecret } from '../../packages/tokenlib/src/tokens/key-ring.js'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function create(secret: Uint8Array): FastMacCheck {
  const check = createFastMacCheck(secret)
  if (check === null) throw new Error('The secret is too long')
  return check
}

const toMac = (secret: Uint8Array, input: string): string =>
  createHmac('sha256', secret).update(input).digest('base64url')

describe('the MAC of a text', () => {
  test.each([
    // §4.2 and §4.3. In the other cases, the text is not ASCII or the secret is longer than a block.
    ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    [
      Buffer.from('Jefe').toString('hex'),
      'what do ya want for nothing?',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
  ])('is the one of RFC 4231 (%s)', (secret, input, mac) => {
    const check = create(Buffer.from(secret, 'hex'))
    expect(check(input, Buffer.from(mac, 'hex').toString('base64url'))).toBe(true)
  })

  test('is the one of node:crypto, for every length of the text and of the secret', () => {
    const missed: number[] = []
    for (let length = 0; length <= 1024; length++) {
      const secret = randomBytes(1 + (length % 64))
      const input = randomBytes(800).toString('base64url').slice(0, length)
      if (!create(secret)(input, toMac(secret, input))) missed.push(length)
    }
    expect(missed).toEqual([])
  })

  test('is the one of node:crypto, where blocks and their padding begin and end', () => {
    const secret = randomBytes(32)
    const check = create(secret)
    const lengths = [0, 1, 55, 56, 63, 64, 65, 119, 120, 127, 128, 1023, 1024]
    const missed = lengths.filter((length) => {
      const input = randomBytes(800).toString('base64url').slice(0, length)
      return !check(input, toMac(secret, input))
    })
    expect(missed).toEqual([])
  })

  test('is no other: not with one bit changed, nor for another text or secret', () => {
    const secret = randomBytes(32)
    const input = randomBytes(150).toString('base64url')
    const bytes = Buffer.from(toMac(secret, input), 'base64url')
    const check = create(secret)
    const accepted: number[] = []
    for (let bit = 0; bit < 256; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (0x80 >> (bit & 7))
      if (check(input, changed.toString('base64url'))) accepted.push(bit)
    }
    expect(accepted).toEqual([])
    const mac = bytes.toString('base64url')
    expect(check(input, mac)).toBe(true)
    expect(check(`${input}A`, mac)).toBe(false)
    expect(check(input.slice(1), mac)).toBe(false)
    expect(create(randomBytes(32))(input, mac)).toBe(false)
  })

  test('has one spelling', () => {
    const secret = randomBytes(32)
    const mac = toMac(secret, 'a')
    const check = create(secret)
    const ends = [...DIGITS].filter((digit) => check('a', mac.slice(0, -1) + digit))
    expect(ends).toEqual([mac.at(-1)])
    const others = [`${mac}=`, `${mac}A`, ` ${mac}`, mac.slice(1), '', mac.replace(/^./, '\u0141')]
    // Each after a good one, of which nothing may be left.
    for (const other of others) expect([check('a', mac), check('a', other)]).toEqual([true, false])
    const standard = Array.from({ length: 50 }, (_, number) =>
      createHmac('sha256', secret).update(`${number}`),
    )
      .map((hmac, number) => ({ input: `${number}`, encoded: hmac.digest('base64').slice(0, -1) }))
      .filter(({ encoded }) => /[+/]/.test(encoded))
    expect(standard.length).toBeGreaterThan(0)
    expect(standard.filter(({ input, encoded }) => check(input, encoded))).toEqual([])
  })

  test('does not begin with a character that has no value, whose bits would be those of the last digit', () => {
    const secret = randomBytes(32)
    const check = create(secret)
    let number = 0
    while (!toMac(secret, `${number}`).startsWith('_')) number++
    const input = `${number}`
    const mac = toMac(secret, input)
    expect(check(input, mac)).toBe(true)
    for (const character of ['*', '/', '\u0141']) expect(check(input, character + mac.slice(1))).toBe(false)
  })

  test('is not that of a text whose characters have the same lower bits', () => {
    const secret = randomBytes(32)
    const check = create(secret)
    // Two blocks, and a rest.
    const input = 'A'.repeat(140)
    const mac = toMac(secret, input)
    expect(check(input, mac)).toBe(true)
    for (let at = 0; at < input.length; at++) {
      expect(check(`${input.slice(0, at)}\u0141${input.slice(at + 1)}`, mac)).toBe(false)
    }
    const byte = createHmac('sha256', secret).update(Buffer.of(0x80)).digest('base64url')
    expect(check('\u0080', byte)).toBe(false)
  })
})

test('what it does not check is left to node:crypto', () => {
  const secret = randomBytes(32)
  const key = bindSecret('secret', secret, 'HS256', { allowWeak: false })
  for (const input of ['a'.repeat(1025), 'ü', '\u0141'.repeat(300), 'A'.repeat(70) + '\u0100']) {
    const mac = toMac(secret, input)
    expect(create(secret)(input, mac)).toBe(false)
    expect(isSignature(key, input, mac)).toBe(true)
    expect(isSignature(key, `${input} `, mac)).toBe(false)
  }
  const long = randomBytes(65)
  expect(createFastMacCheck(long)).toBeNull()
  const longKey = bindSecret('secret', long, 'HS256', { allowWeak: false })
  expect(isSignature(longKey, 'a', toMac(long, 'a'))).toBe(true)
})

test('one check does not disturb the next, whichever secret it is for', () => {
  const secrets = [randomBytes(32), randomBytes(48)]
  const checks = secrets.map(create)
  const inputs = Array.from({ length: 40 }, (_, number) => 'x'.repeat(7 * number))
  const answers = inputs.map((input, number) => {
    const at = number % 2
    return [
      checks[at]?.(input, toMac(secrets[1 - at] as Buffer, input)),
      checks[at]?.(input, toMac(secrets[at] as Buffer, input)),
    ]
  })
  expect(answers).toEqual(inputs.map(() => [false, true]))
})

describe('in FIPS mode, only node:crypto computes MACs', () => {
  test.each([
    ['Node', () => 1 as const],
    ['workerd', () => true as never],
    [
      'a runtime that cannot tell',
      () => {
        throw new Error('Not implemented')
      },
    ],
  ])('%s', (_, readFips) => {
    const getFips = vi.spyOn(crypto, 'getFips').mockImplementation(readFips)
    try {
      expect(createFastMacCheck(randomBytes(32))).toBeNull()
    } finally {
      getFips.mockRestore()
    }
    expect(createFastMacCheck(randomBytes(32))).not.toBeNull()
  })
})

test('a runtime that does not know FIPS mode checks MACs here', () => {
  const { getFips } = crypto
  Object.assign(crypto, { getFips: undefined })
  try {
    expect(createFastMacCheck(randomBytes(32))).not.toBeNull()
  } finally {
    Object.assign(crypto, { getFips })
  }
})

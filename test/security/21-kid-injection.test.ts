import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { attack, describeAttacks, type Lab, ownAttack } from './harness/attack.js'
import { forge, SECRET } from './harness/forge.js'
import { LONG_SECRET } from './harness/keys-for.js'

/** Tokens whose kid is to find a key that the attacker knows. */
async function tryKids({ open }: Lab, kids: readonly unknown[], keys: readonly string[]): Promise<void> {
  const jwk: Jwk = { kty: 'oct', kid: 'current', k: Buffer.from(SECRET).toString('base64url') }
  const honest = forge({ header: { alg: 'HS256', typ: 'JWT', kid: 'current' } })
  const verifier = await open({ algorithm: 'HS256', key: jwk }, honest)
  for (const kid of kids) {
    for (const key of keys) {
      await verifier.refuses(forge({ key, header: { alg: 'HS256', typ: 'JWT', kid } }))
    }
  }
}

const PATHS = [
  '/dev/null',
  '../../../../dev/null',
  String.raw`..\..\nul`,
  'file:///dev/null',
  '/proc/sys/kernel/ns_last_pid',
]
const QUERIES = [
  "' UNION SELECT 'known' -- ",
  "x'; DROP TABLE keys; --",
  '1 OR 1=1',
  '*)(uid=*))(|(uid=*',
  '$(echo known)',
  '`echo known`',
  '|echo known',
  '{{7*7}}',
]

describeAttacks('a kid that is more than a name (RFC 8725 §3.10)', () => {
  attack('a path to an empty or known file', (lab) => tryKids(lab, PATHS, ['', '\0', '0\n']))

  attack('a query, a command or a template', (lab) => tryKids(lab, QUERIES, ['known', '49', '']))

  attack('a name that every object has', (lab) =>
    tryKids(
      lab,
      ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '__defineGetter__'],
      ['', 'undefined', 'null', '[object Object]', String(Object), 'function toString() { [native code] }'],
    ),
  )

  attack('an object, a list or a number', (lab) =>
    tryKids(
      lab,
      [{ $ne: null }, { $gt: '' }, ['current'], [], 0, -1, true, null, {}],
      ['', 'undefined', 'null'],
    ),
  )

  attack('a kid of a megabyte', (lab) => tryKids(lab, ['k'.repeat(2 ** 20)], ['', 'known']))

  ownAttack('a kid that is no short text, in a token that is signed well', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: LONG_SECRET }) })
    const token = (header: object) =>
      forge({ key: LONG_SECRET, header: { alg: 'HS256', typ: 'JWT', ...header } })
    await tokens.verify(token({}))
    for (const kid of [null, 0, true, [], ['a'], {}, { toString: 'a' }, 'k'.repeat(129)]) {
      await expect(tokens.verify(token({ kid }))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('a kid that is nearly that of the key, in a token that is signed well', async () => {
    const k = Buffer.from(LONG_SECRET).toString('base64url')
    const config = new TokenConfig({ JWT_SECRET_KEY: { kty: 'oct', kid: 'key-1', k } })
    const tokens = new TokenManager({ config })
    const token = (kid: string) => forge({ key: LONG_SECRET, header: { alg: 'HS256', typ: 'JWT', kid } })
    await tokens.verify(token('key-1'))
    for (const kid of [
      '',
      'KEY-1',
      ' key-1',
      'key-1 ',
      'key-1\0',
      'key-',
      'key-11',
      'kеy-1',
      '__proto__',
      'constructor',
    ]) {
      await expect(tokens.verify(token(kid)), kid).rejects.toMatchObject({
        code: 'TOKEN_SIGNATURE_INVALID',
      })
    }
  })
})

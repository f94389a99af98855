import { expect } from 'vitest'
import type { NodeRequest } from '../../packages/tokenlib/src/kit.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge, SECRET } from './harness/forge.js'

const HS256 = { algorithm: 'HS256', key: SECRET } as const
const GOOD = forge()
const OTHER = forge({ claims: { sub: 'mallory', type: 'access', exp: 4_102_444_800, iat: 0, jti: 'other' } })

/** A request with one or more Authorization values, as Fetch joins them. */
function withValues(...values: readonly string[]): Request {
  const headers = new Headers()
  for (const value of values) headers.append('authorization', value)
  return new Request('http://localhost/', { headers })
}

const { tokens } = createManager({ JWT_SECRET_KEY: SECRET })

/** What becomes of a request whose headers are plain values, however odd. */
const outcomeOfHeaders = (headers: object): Promise<string> =>
  outcomeOf(tokens.accessTokenRequired({ method: 'GET', headers: headers as NodeRequest['headers'] }))

describeAttacks('a token after any scheme (CVE-2026-47673, RFC 9110 §11.4, RFC 6750 §2.1)', () => {
  attack('another scheme before a good token', async ({ guard }) => {
    const guarded = await guard(HS256, withBearer(GOOD))
    // RFC 9110 §11.1: any case of the right name.
    await guarded.accepts(withValues(`bEARER ${GOOD}`))
    for (const scheme of [
      'Basic',
      'Digest',
      'Token',
      'JWT',
      'DPoP',
      'Negotiate',
      'Bearerx',
      'xBearer',
      'Bear',
    ]) {
      await guarded.refuses(withValues(`${scheme} ${GOOD}`))
    }
    for (const start of ['Basic Bearer', 'Bearer Bearer', 'Bear er', '"Bearer"', 'Bearer:', 'Bearer Basic']) {
      await guarded.refuses(withValues(`${start} ${GOOD}`))
    }
  })

  attack('a good token and something else after one scheme', async ({ guard }) => {
    const guarded = await guard(HS256, withBearer(GOOD))
    for (const credential of [
      `${GOOD},${OTHER}`,
      `${OTHER},${GOOD}`,
      `${GOOD}, ${GOOD}`,
      `${GOOD} ${OTHER}`,
      `${OTHER} ${GOOD}`,
      `${GOOD};`,
      `${GOOD}, realm="x"`,
      `"${GOOD}"`,
      `token="${GOOD}"`,
      `token=${GOOD}`,
      `<${GOOD}>`,
    ]) {
      await guarded.refuses(withValues(`Bearer ${credential}`))
    }
  })

  attack('a scheme without a token, and a token without a scheme', async ({ guard }) => {
    const guarded = await guard(HS256, withBearer(GOOD))
    for (const value of ['', 'Bearer', 'Bearer ', 'Bearer ""', 'Bearer null', 'Bearer undefined', GOOD]) {
      await guarded.refuses(withValues(value))
    }
    for (const between of ['', '=', ':', ',', '.', '_']) {
      await guarded.refuses(withValues(`Bearer${between}${GOOD}`))
    }
  })

  attack('two Authorization headers, of which one is good', async ({ guard }) => {
    const guarded = await guard(HS256, withBearer(GOOD))
    await guarded.refuses(withValues(`Bearer ${GOOD}`, `Bearer ${OTHER}`))
    await guarded.refuses(withValues(`Bearer ${OTHER}`, `Bearer ${GOOD}`))
    await guarded.refuses(withValues(`Bearer ${GOOD}`, `Bearer ${GOOD}`))
    await guarded.refuses(withValues(`Bearer ${GOOD}`, 'Bearer'))
  })

  // To be lenient here lets nobody in who has no token; only what is claimed of this library is at stake.
  ownAttack('white space that is no space', async () => {
    expect(await outcomeOfHeaders({ authorization: `Bearer   ${GOOD} \t` })).toBe('ok')
    for (const space of [
      '\t',
      '\v',
      '\f',
      '\u0085',
      '\u00A0',
      '\u2003',
      '\u3000',
      '\uFEFF',
      '\0',
      '\r\n ',
      '\n',
    ]) {
      expect(await outcomeOfHeaders({ authorization: `Bearer${space}${GOOD}` })).toBe('TOKEN_MISSING')
    }
    // RFC 9110 §5.6.3: only SP and HTAB may stand around a value.
    for (const space of ['\v', '\u00A0', '\u2003', '\uFEFF', '\0', '\n']) {
      expect(await outcomeOfHeaders({ authorization: `Bearer ${space}${GOOD}` })).toBe('TOKEN_INVALID')
      expect(await outcomeOfHeaders({ authorization: `Bearer ${GOOD}${space}` })).toBe('TOKEN_INVALID')
      expect(await outcomeOfHeaders({ authorization: `${space}Bearer ${GOOD}` })).toBe('TOKEN_MISSING')
    }
  })

  ownAttack('two headers over a socket, of which Node shows only the first', async () => {
    const send = (...values: readonly string[]): Promise<string> => {
      const names = ['Authorization', 'AUTHORIZATION', 'authorization']
      const lines = values.map((value, at) => [names[at] ?? '', value] as const)
      return receive(toHttpText('GET /', lines), (request) => outcomeOf(tokens.accessTokenRequired(request)))
    }
    expect(await send(`Bearer ${GOOD}`)).toBe('ok')
    expect(await send(`Bearer ${GOOD}`, `Bearer ${OTHER}`)).toBe('TOKEN_INVALID')
    expect(await send(`Bearer ${OTHER}`, `Bearer ${GOOD}`)).toBe('TOKEN_INVALID')
    expect(await send(`Bearer ${GOOD}`, `Bearer ${GOOD}`)).toBe('TOKEN_INVALID')
    expect(await send('Basic x', `Bearer ${GOOD}`, `bearer ${OTHER}`)).toBe('TOKEN_INVALID')
    expect(await send('Basic x', `Digest ${GOOD}`)).toBe('TOKEN_MISSING')
  })

  ownAttack(
    'a list, a second spelling of the name, and values of other types in a plain request',
    async () => {
      const good = `Bearer ${GOOD}`
      expect(await outcomeOfHeaders({ authorization: [good] })).toBe('ok')
      expect(await outcomeOfHeaders({ authorization: [good, `Bearer ${OTHER}`] })).toBe('TOKEN_INVALID')
      expect(await outcomeOfHeaders({ authorization: [good, good] })).toBe('TOKEN_INVALID')
      expect(await outcomeOfHeaders({ authorization: good, Authorization: good })).toBe('TOKEN_INVALID')
      expect(await outcomeOfHeaders({ 'authorization ': good, xauthorization: good })).toBe('TOKEN_MISSING')
      expect(await outcomeOfHeaders(Object.create({ authorization: good }))).toBe('TOKEN_MISSING')
      for (const value of [null, undefined, 0, true, [], [[]], {}]) {
        expect(await outcomeOfHeaders({ authorization: value })).toBe('TOKEN_MISSING')
      }
    },
  )
})

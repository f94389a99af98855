import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { readCookie } from '../../packages/tokenlib/src/http/credentials.js'
import { createManager } from '../helpers/manager.js'
import { createRequest, receive, toHttpText } from '../helpers/requests.js'

const NAME = '__Host-access'
const { tokens } = createManager({
  JWT_TOKEN_LOCATION: 'cookies',
  JWT_ACCESS_COOKIE_NAME: NAME,
} satisfies TokenConfigOptions)
const ADA = tokens.createAccessToken({ uid: 'ada' })
const MALLORY = tokens.createAccessToken({ uid: 'mallory' })

// RFC 6265bis §4.1.3: the browser vouches for the name as it is spelled. A server that trims, decodes or folds another
// name into it takes a cookie for vouched that anybody could set.
const IMPOSTORS: readonly [what: string, cookie: string][] = [
  ['in lower case', `__host-access=${MALLORY}`],
  ['in upper case', `__HOST-ACCESS=${MALLORY}`],
  ['after a no-break space', `\u00a0${NAME}=${MALLORY}`],
  ['before a no-break space', `${NAME}\u00a0=${MALLORY}`],
  ['after the UTF-8 bytes of a no-break space', `\u00c2\u00a0${NAME}=${MALLORY}`],
  ['after the UTF-8 bytes of U+2000', `\u00e2\u0080\u0080${NAME}=${MALLORY}`],
  ['after the UTF-8 bytes of a byte order mark', `\u00ef\u00bb\u00bf${NAME}=${MALLORY}`],
  ['after a next-line character', `\u0085${NAME}=${MALLORY}`],
  ['with a percent-encoded letter', `__%48ost-access=${MALLORY}`],
  ['with percent-encoded underscores', `%5F%5FHost-access=${MALLORY}`],
  ['with dots for underscores', `..Host-access=${MALLORY}`],
  ['with a space for an underscore', `_ Host-access=${MALLORY}`],
  ['in quotes', `"${NAME}"=${MALLORY}`],
  ['in brackets', `${NAME}[]=${MALLORY}`],
  ['after a dollar sign, as an attribute of RFC 2109', `$Version=1,${NAME}=${MALLORY}`],
  ['after a comma, as two cookies of RFC 2965', `a=1,${NAME}=${MALLORY}`],
  ['in a quoted value', `a="${NAME}=${MALLORY}"`],
  ['as a value', `a=${NAME}=${MALLORY}`],
  ['with the signed prefix of a cookie parser', `s:${NAME}=${MALLORY}`],
]

describe('a cookie that looks like one with a __Host- name', () => {
  test.each(IMPOSTORS)('%s is none', async (_, cookie) => {
    expect(readCookie(cookie, NAME)).toBeNull()
    // Nor does it make a conflict, which would lock the visitor out.
    expect(readCookie(`${cookie}; ${NAME}=${ADA}`, NAME)).toBe(ADA)
    expect(readCookie(`${NAME}=${ADA}; ${cookie}`, NAME)).toBe(ADA)
  })

  test('as a Fetch request carries it', async () => {
    for (const [what, cookie] of IMPOSTORS) {
      const request = createRequest({ headers: { cookie } })
      await expect(tokens.accessTokenRequired(request), what).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    }
  })

  test('as a Node server receives it, in a header of its own', async () => {
    for (const [what, cookie] of IMPOSTORS) {
      const text = toHttpText('GET /', [
        ['Cookie', cookie],
        ['Cookie', `${NAME}=${ADA}`],
      ])
      await expect(
        receive(text, (request) => tokens.accessTokenRequired(request)),
        what,
      ).resolves.toMatchObject({ sub: 'ada' })
    }
  })
})

// RFC 6265bis §5.6: a browser drops this white space before it looks at the prefix, so no name hides behind it.
test.each([` ${NAME}`, `\t${NAME}`, `${NAME} `, `${NAME}\t`])('%j is the name itself', (name) => {
  expect(readCookie(`${name}=${ADA}`, NAME)).toBe(ADA)
  expect(() => readCookie(`${name}=${MALLORY}; ${NAME}=${ADA}`, NAME)).toThrow(
    expect.objectContaining({ code: 'TOKEN_INVALID' }),
  )
})

import { expect, test } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createForeign } from '../helpers/foreign.js'
import { createOpaqueReceiver, OPAQUE } from '../helpers/introspection.js'
import { openToken, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'

const PEER = createForeign('https://peer.example')
const BOUND = { cnf: { jwk: PEER.jwk } }

async function open() {
  const trusted = PEER.trust({ subjectPrefix: 'peer:', profile: 'tokenlib' })
  const { tokens, endpoint } = createOpaqueReceiver({}, { others: [trusted] })
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'grace' })
  /** One of the two tokens with other claims. */
  const change = (token: string, others: object): string => {
    const { header, claims } = openToken(token)
    return forge({ key: SECRET, header, claims: { ...claims, ...others } })
  }
  return { tokens, endpoint, accessToken, refreshToken, change }
}

const parse = (tokens: TokenManager, token: string) =>
  outcomeOf(internalsOf(tokens).devices.parseSession(token))

test('only a refresh token of ours that is bound to a device names its session', async () => {
  const { tokens, accessToken, refreshToken, change } = await open()
  expect(await parse(tokens, change(refreshToken, BOUND))).toBe('ok')
  for (const token of [
    refreshToken,
    change(refreshToken, { cnf: { jkt: 'x' } }),
    change(refreshToken, { ...BOUND, sid: undefined }),
    change(accessToken, BOUND),
    PEER.sign({ type: 'access', sid: 'theirs', ...BOUND }),
  ]) {
    expect(await parse(tokens, token)).toBe('PROOF_INVALID')
  }
})

test('an opaque token names none, and is not sent to its issuer', async () => {
  const { tokens, endpoint } = await open()
  expect(await parse(tokens, OPAQUE)).toBe('PROOF_INVALID')
  expect(endpoint.asked).toEqual([])
})

import { sign } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { type IssuerOptions, trustIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, SECRET, withBearer } from '../helpers/manager.js'
import { type AcceptedShape, PROVIDERS, type ProviderShapes, type Shape } from './provider-shapes.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

// Serves the key set of every provider: the path is the URL that a manager asks for.
const sets = new Map<string, string>()
const server: Server = createServer((request, response) => {
  const set = sets.get(decodeURIComponent((request.url ?? '').slice(1)))
  response.writeHead(set === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(set)
})
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => server.close())

const { publicKey, privateKey } = keyPairFor('RS256')
const KID = 'T1St-dLTvyWRgxB_676u8krXS-I'

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function make({ header, claims }: Pick<Shape, 'header' | 'claims'>): string {
  const input = `${encode({ kid: KID, ...header })}.${encode(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
}

const clock = createClock()

function publish({ jwk, jwksUri }: ProviderShapes): Jwk {
  const { kty, n, e } = publicKey.export({ format: 'jwk' })
  const published = { kty: kty as string, n, e, kid: KID, ...jwk }
  sets.set(jwksUri, JSON.stringify({ keys: [published] }))
  return published
}

function createManager(issuer: IssuerOptions): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    issuers: [trustIssuer(issuer)],
    store: createMemoryStore({ clock }),
    clock,
  })
}

/** An issuer that asks the server here for its keys, and the URLs that it asked for. */
function createRemote(shapes: ProviderShapes) {
  publish(shapes)
  const asked: string[] = []
  const fetchKeys = async (url: string): Promise<Response> => {
    asked.push(url)
    return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${encodeURIComponent(url)}`)
  }
  return { issuer: shapes.create({ subjectPrefix: 'id:', remoteKeys: { fetch: fetchKeys } }).options, asked }
}

/** The same with its keys given. */
function createLocal(shapes: ProviderShapes): IssuerOptions {
  return { ...shapes.create({ subjectPrefix: 'id:' }).options, keys: { keys: [publish(shapes)] } }
}

describe.each(PROVIDERS)('$provider', (shapes) => {
  const { accepted, refused, issuer, jwksUri } = shapes

  const { issuer: remote, asked } = createRemote(shapes)
  const tokens = createManager(remote)
  const [first] = accepted as readonly [AcceptedShape, ...AcceptedShape[]]

  test.each(accepted)('accepts: $title', async ({ payload: expected, ...shape }) => {
    const payload = await tokens.accessTokenRequired(withBearer(make(shape)))
    expect(payload).toMatchObject({ iss: issuer, type: 'access' })
    const { sub, ...others } = Object.fromEntries(
      Object.keys({ sub: true, ...expected }).map((name) => [name, payload[name]]),
    )
    expect({ sub: (sub as string).slice('id:'.length), ...others }).toEqual({
      sub: shape.claims[remote.mapping?.sub ?? 'sub'],
      ...expected,
    })
  })

  test('asks for its keys once, at the published URL', async () => {
    await tokens.ready()
    expect(asked).toEqual([jwksUri])
  })

  test.each(refused)('refuses: $title', async ({ code, ...shape }) => {
    await tokens.ready()
    await expect(tokens.accessTokenRequired(withBearer(make(shape)))).rejects.toMatchObject({ code })
  })

  test('refuses its tokens once they expire, and those of another key', async () => {
    const { header, claims } = first
    const local = createManager(createLocal(shapes))
    const expired = make({ header, claims: { ...claims, exp: (claims['iat'] as number) - 1 } })
    await expect(local.verify(expired)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
    const unknown = make({ header: { ...header, kid: 'other' }, claims })
    await expect(local.verify(unknown)).rejects.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
  })

  test('refuses the tokens of a user after revoke.user', async () => {
    const local = createManager(createLocal(shapes))
    const { sub } = await local.verify(make(first))
    await local.revoke.user(sub, { issuer })
    await expect(local.verify(make(first))).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test.each(accepted.filter(({ payload }) => payload['sid'] !== undefined))(
    'refuses the tokens of a session after revoke.session: $title',
    async (shape) => {
      const local = createManager(createLocal(shapes))
      await local.revoke.session(shape.payload['sid'] as string, { issuer })
      await expect(local.verify(make(shape))).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    },
  )

  test.each(accepted.filter(({ payload }) => payload['jti'] !== undefined))(
    'refuses one token after revoke.token: $title',
    async (shape) => {
      const local = createManager(createLocal(shapes))
      await local.revoke.token(await local.verify(make(shape)))
      await expect(local.verify(make(shape))).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    },
  )
})

test('the managers of two providers refuse the tokens of each other', async () => {
  const outcomes: string[] = []
  for (const shapes of PROVIDERS) {
    const tokens = createManager(createLocal(shapes))
    for (const other of PROVIDERS.filter(({ issuer }) => issuer !== shapes.issuer)) {
      const token = make(other.accepted[0] as Shape)
      await tokens.verify(token).then(
        () => outcomes.push(`${shapes.provider} accepts ${other.provider}`),
        () => undefined,
      )
    }
  }
  expect(outcomes).toEqual([])
})

test('one manager takes the tokens of all of them, each user with the prefix of its provider', async () => {
  const distinct = PROVIDERS.filter(({ provider }) => !provider.includes(' with '))
  const issuers = distinct.map((shapes, at) =>
    trustIssuer({ ...createLocal(shapes), subjectPrefix: `${at}:` }),
  )
  const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }), issuers, clock })
  for (const [at, { accepted, issuer }] of distinct.entries()) {
    const [first] = accepted
    const payload = internalsOf(tokens).verifyWithoutRevocation(make(first as Shape))
    expect([payload.iss, payload.sub]).toEqual([issuer, `${at}:${first?.payload['sub'] as string}`])
  }
})

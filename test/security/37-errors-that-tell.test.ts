import { inspect } from 'node:util'
import { expect } from 'vitest'
import {
  isTokenError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  toErrorResponse,
} from '../../packages/tokenlib/src/index.js'
import {
  assertWithstood,
  attack,
  AttackSucceeded,
  describeAttacks,
  type Lab,
  ownAttack,
} from './harness/attack.js'
import { CLAIMS, encode, forge, keyPairOf, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const SUBJECT = 'ada.lovelace@analytical.example'
const claims = { ...CLAIMS, sub: SUBJECT }

// Each is refused for a reason of its own.
const REFUSED: Readonly<Record<string, string>> = {
  'a forged signature': forge({ claims, key: 'x'.repeat(64) }),
  'no signature': forge({ claims, signature: '' }),
  'another algorithm': forge({ claims, algorithm: 'HS512' }),
  'an unsigned one': forge({ claims, header: { alg: 'none' }, signature: '' }),
  'no JSON': forge({ claims: `${SUBJECT} is no JSON` }),
  'four segments': `${forge({ claims })}.${encode(SUBJECT)}`,
  'no base64': `${forge({ claims })}!`,
}

describeAttacks('errors that tell a secret (CVE-2019-7644, GO-2022-1178)', () => {
  attack('the error of a forged token tells neither the right signature nor the secret', async (lab) => {
    const right = forge({ claims }).split('.')[2] ?? ''
    const secrets = [right, Buffer.from(right, 'base64url').toString('hex'), SECRET]
    for (const [reason, token] of Object.entries(REFUSED)) {
      const text = describeError(await refusalOf(lab, token))
      // Where the signature was never forged, it is the attacker's own.
      const told = secrets.filter((secret) => !token.includes(secret) && isTold(text, secret))
      assertWithstood(told.length === 0, `${lab.target.name} tells a secret, of ${reason}`)
    }
  })

  attack('the error of a refused token does not repeat the token', async (lab) => {
    for (const [reason, token] of Object.entries(REFUSED)) {
      const text = describeError(await refusalOf(lab, token))
      // The header is the same in all tokens, and says nothing.
      const parts = token.split('.').slice(1)
      const isRepeated = parts.some((part) => isTold(text, part))
      assertWithstood(!isRepeated, `${lab.target.name} repeats the token, of ${reason}`)
    }
  })

  ownAttack('nor does what listeners, clients and logs get', async () => {
    const tokens = createManager()
    expect((await tokens.verify(forge({ claims }))).sub).toBe(SUBJECT)
    const events: unknown[] = []
    tokens.on('rejected', (event) => events.push(event))
    const refused = { ...REFUSED, 'an expired one': forge({ claims: { ...claims, exp: CLAIMS.iat } }) }
    for (const [reason, token] of Object.entries(refused)) {
      const error = await tokens.verify(token).catch((thrown: unknown) => thrown)
      if (!isTokenError(error)) throw new Error(`Not refused: ${reason}`)
      const text = describeError(error) + inspect(toErrorResponse(error)) + inspect(events.pop())
      const parts = [SECRET, ...token.split('.').slice(1)]
      expect(
        parts.filter((part) => isTold(text, part)),
        reason,
      ).toEqual([])
    }
  })

  ownAttack('the claims of a revoked token are there for the program, and for no log', async () => {
    const tokens = createManager()
    tokens.setTokenBlocklist(() => true)
    const error = await tokens.verify(forge({ claims })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'TOKEN_REVOKED', payload: { sub: SUBJECT } })
    expect(describeError(error)).not.toContain(SUBJECT)
    expect(isTold(describeError(error), forge({ claims }))).toBe(false)
  })

  ownAttack('a wrong configuration is explained without the key in it', () => {
    const { privateKey } = keyPairOf('ES256')
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const short = 'Vx7-too-short-secret'
    expect(createManager()).toBeInstanceOf(TokenManager)
    const wrong: readonly [TokenConfigOptions, string][] = [
      [{ JWT_SECRET_KEY: short }, short],
      [{ JWT_SECRET_KEY: pem }, pem],
      [{ JWT_PREVIOUS_SECRET_KEY: short }, short],
      [{ JWT_ALGORITHM: 'RS256', JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: pem }, pem],
      [
        { JWT_ALGORITHM: 'ES256', JWT_SECRET_KEY: null, JWT_PUBLIC_KEY: pem.slice(0, 120) },
        pem.slice(0, 120),
      ],
    ]
    for (const [options, key] of wrong) {
      const error = catchError(() => createManager(options))
      expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
      const lines = key.split('\n').filter((line) => !line.startsWith('-----'))
      expect(lines.filter((line) => isTold(describeError(error), line))).toEqual([])
    }
  })
})

function createManager(options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }) })
}

// What the library under attack throws for a token; it takes the honest one.
async function refusalOf({ open, target }: Lab, token: string): Promise<unknown> {
  await open(OPTIONS, forge({ claims }))
  const verify = await target.open(OPTIONS)
  try {
    await verify?.(token)
  } catch (error) {
    return error
  }
  throw new AttackSucceeded(`${target.name} took it`)
}

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return null
}

// Everything of an error that a log could show; `inspect` follows its causes.
function describeError(error: unknown): string {
  const { message = '', stack = '' } = error as Partial<Error>
  return [message, stack, inspect(error, { depth: 10 }), JSON.stringify(error)].join('\n')
}

// Eight characters in a row: less could be chance, and more would miss what is cut short.
function isTold(text: string, secret: string): boolean {
  for (let at = 0; at + 8 <= secret.length; at++) {
    if (text.includes(secret.slice(at, at + 8))) return true
  }
  return false
}

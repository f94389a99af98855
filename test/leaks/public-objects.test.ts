import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { createLeakRecord, type Leak } from './leak-record.js'
import { createPublicObjects } from './public-objects.js'
import { textsOfError, textsOfObject } from './shown-texts.js'

const everything = await createPublicObjects()
const { objects, secrets, answers, clients } = everything
afterAll(() => everything.close())

// Functions whose values are numbers, flags, texts, functions, or what they were given.
const NOTHING_TO_SHOW = new Set(
  `toTimedId expiresAt issuedAt timeSinceIssued timeUntilExpiry hasScopes extraClaims isTokenError isOutage isConfigurationError isWatermark addDuration raiseWatermark parseListOptions assertRouter
  assertSessionLimit decideOpening toCoarseMs toFirstPlace toPresentation toRotation mount implicitRefresh
  pollFeed decideRotation migrationSql toErrorResponse unsetAccessCookies unsetRefreshCookies sendCookies
  describeSecurity fromContext enforce inject handleErrors Depends InjectTokenManager getTokenManagerToken
  CurrentSubject TokenClaims FreshWithin protectSocketIo Token OptionalAuth Public RequireAnyScope RequireScopes readUpgrade createTokenDecorators applicationContract storeContract
  createFrozenClock createVirtualClock assertErrorOptions callDependency createEnforcer createInjector requiredTokenType isForm isJson parseBody
  readSingleHeader toRequestView rememberView toFetchErrorResponse defineStore createLossReporter attach
  auth0 cognito entra instrument keycloak okta
  readAttached setRequestIp isRevokedBy createSessionRoutes sessionRoutesContract`.split(/\s+/),
)

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value))
}

function search(shown: readonly object[]): Leak[] {
  const record = createLeakRecord()
  for (const secret of secrets) record.addSecret(secret)
  for (const value of shown) {
    const name = value.constructor?.name ?? 'TokenPayload'
    record.show('objects', () => (value instanceof Error ? textsOfError(value) : textsOfObject(name, value)))
  }
  return record.search()
}

test('nothing secret is in what is logged or sent of an object', () => {
  const leaking = Object.entries(objects).flatMap(([name, shown]) => {
    // Nor inside of something else.
    const leaks = search([...shown, { deep: [shown, new Map([['key', shown]])] }])
    return leaks.map(({ secret, origin }) => `${name}: ${secret} in ${origin}`)
  })
  expect(leaking).toEqual([])
  expect(Object.keys(objects).filter((name) => objects[name]?.length === 0)).toEqual([])
})

test('keys that are refused are among the objects', () => {
  expect(objects['ConfigurationError']).not.toHaveLength(0)
  for (const error of objects['ConfigurationError'] ?? []) expect(error).toBeInstanceOf(ConfigurationError)
})

test.each(['TokenConfig', 'RequestToken', 'TokenPayload', 'a client of a store'])(
  'the search would find it: %s has what it hides',
  (name) => {
    const opened = (objects[name] ?? clients).map((value) => Object.getOwnPropertyDescriptors(value))
    expect(search(opened)).not.toEqual([])
  },
)

test.each(Object.entries(answers))('%s is for sending: it has the token in it', (_name, shown) => {
  expect(search(shown)).not.toEqual([])
})

describe('every export was looked at', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const { compilerOptions } = JSON.parse(readFileSync(`${root}tsconfig.json`, 'utf8')) as {
    compilerOptions: { paths: Record<string, [string]> }
  }
  const entries = Object.entries(compilerOptions.paths)
    .filter(([name]) => /^@?tokenlib/.test(name))
    .map(([name, [path]]) => [name, `${root}${path}`] as const)

  test('of every entry', async () => {
    expect(entries.length).toBeGreaterThan(10)
    const missing: string[] = []
    for (const [entry, path] of entries) {
      const module = (await import(/* @vite-ignore */ path)) as Record<string, unknown>
      // The functions of the kit are the parts of a manager. What they make is looked at where an application gets it.
      const isKnown = (name: string): boolean =>
        entry === 'tokenlib/kit' || name in answers || NOTHING_TO_SHOW.has(name)
      const isMissing = (name: string, value: unknown): boolean =>
        typeof value === 'function' && !(name in objects) && (isClass(value) || !isKnown(name))
      for (const [name, value] of Object.entries(module)) {
        if (isMissing(name, value)) missing.push(`${entry}: ${name}`)
      }
    }
    expect(missing, 'add them to public-objects.ts').toEqual([])
  })

  test('and nothing else is listed', async () => {
    const modules = await Promise.all(
      entries.map(([, path]) => import(/* @vite-ignore */ path) as Promise<object>),
    )
    const exported = new Set(modules.flatMap((module) => Object.keys(module)))
    expect([...NOTHING_TO_SHOW].filter((name) => !exported.has(name))).toEqual([])
  })
})

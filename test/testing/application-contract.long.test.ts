import { describe, expect, test } from 'vitest'
import { RevocationUnavailableError, TokenConfig } from '../../packages/tokenlib/src/index.js'
import { createClient } from '../../packages/contracts/src/application-client.js'
import {
  type RunningApplication,
  applicationContract,
  type StartApplication,
} from '../../packages/contracts/src/index.js'
import { type Application, createApplication } from '../../examples/application.js'
import { start } from '../../examples/fetch.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

type Step = () => Promise<void>

interface Group {
  readonly name: string
  readonly before: Step[]
  readonly cases: { readonly title: string; readonly run: Step }[]
  readonly after: Step[]
}

/** The cases of the contract, gathered by a test runner made by hand. */
function collect(startApplication: StartApplication): Group[] {
  const createGroup = (name: string): Group => ({ name, before: [], cases: [], after: [] })
  const outside = createGroup('')
  const groups = [outside]
  let current = outside
  applicationContract('it', startApplication, {
    describe(name, run) {
      groups.push((current = createGroup(`${name.replace('it, ', '')}: `)))
      run()
      current = outside
    },
    test: (name, run) => current.cases.push({ title: current.name + name, run }),
    beforeAll: (run) => current.before.push(run),
    afterAll: (run) => current.after.push(run),
  })
  return groups
}

/** Runs the contract, and names the cases that fail. */
async function failures(startApplication: StartApplication): Promise<string[]> {
  const failed: string[] = []
  for (const { before, cases, after } of collect(startApplication)) {
    for (const step of before) await step()
    for (const { title, run } of cases) await run().catch(() => failed.push(title))
    for (const step of after) await step()
  }
  return failed
}

/** Starts the example application after something was broken in it. */
const startBroken =
  (broken: (application: Application) => Application): StartApplication =>
  async (options) => {
    const application = broken(createApplication())
    const server = await start(application, { ...options, framework: 'fetch', port: 0 })
    return { ...server, checks: () => application.checks() }
  }

const inBoth = (titles: readonly string[]): string[] =>
  ['without', 'with'].flatMap((mode) => titles.map((title) => `${mode} handleErrors: ${title}`))

test('an application that is right passes every case', async () => {
  await expect(failures(startBroken((application) => application))).resolves.toEqual([])
})

test('a runner is given more than seventy cases, each title once', () => {
  const titles = collect(startBroken((application) => application)).flatMap(({ cases }) =>
    cases.map(({ title }) => title),
  )
  expect(titles.length).toBeGreaterThan(70)
  expect(new Set(titles).size).toBe(titles.length)
})

describe('the contract fails for an application', () => {
  test('that left the guard out of /profile', async () => {
    const broken = startBroken((application) => {
      const { tokens } = application
      const { accessTokenRequired } = tokens
      const nobody = internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'nobody' }))
      const leaky: typeof accessTokenRequired = (request) =>
        (request as Request).url.endsWith('/profile')
          ? accessTokenRequired(request).catch(() => nobody)
          : accessTokenRequired(request)
      Object.assign(tokens, { accessTokenRequired: leaky })
      return application
    })
    await expect(failures(broken)).resolves.toEqual(
      inBoth([
        'GET /profile, token: none',
        'GET /profile, token: revoked',
        'GET /profile, token: garbage',
        'GET /profile, token: refresh',
        'logout refuses that token everywhere, and another token of the user passes',
      ]),
    )
  })

  test('that answers errors with a body of its own', async () => {
    const broken = startBroken((application) => {
      const config = new TokenConfig({ JWT_SECRET_KEY: 'unused', JWT_ERROR_MESSAGE_KEY: 'detail' })
      Object.assign(application.tokens, { config })
      return application
    })
    const failed = await failures(broken)
    expect(failed).toContain('with handleErrors: GET /profile, token: none')
    expect(failed).toHaveLength(15)
    for (const title of failed) expect(title).toMatch(/^with handleErrors: (?:GET|POST|DELETE) .* token: /)
  })

  test('that handles errors unasked', async () => {
    const application = createApplication()
    const failed = await failures(async (options) => ({
      ...(await start(application, { ...options, framework: 'fetch', port: 0, handleErrors: true })),
      checks: () => application.checks(),
    }))
    expect(failed).toContain('without handleErrors: GET /profile, token: none')
    for (const title of failed) expect(title).toMatch(/^without handleErrors: /)
  })

  test('whose logout forgets the refresh token', async () => {
    const broken = startBroken((application) => ({
      ...application,
      logout: (token, payload) => application.logout(token, { ...payload, sid: 'another' }),
    }))
    await expect(failures(broken)).resolves.toEqual(
      inBoth([
        'logout ends the refresh token of the same login',
        'a refreshed login works, and its logout ends the new pair',
      ]),
    )
  })

  test('whose refresh leaves the old refresh token alive', async () => {
    const broken = startBroken((application) => ({
      ...application,
      async refresh(request) {
        await application.tokens.refreshTokenRequired(request)
        return (await application.login('{"uid":"grace"}')) ?? Promise.reject(new Error('no'))
      },
    }))
    await expect(failures(broken)).resolves.toEqual(
      inBoth(['a refreshed login works, and its logout ends the new pair']),
    )
  })

  test('that asks the revocation callback twice', async () => {
    const broken = startBroken((application) => {
      const { tokens } = application
      // A token that is checked by itself shares nothing with the request it came in.
      const required = tokens.accessTokenRequired
      const twice: typeof tokens.accessTokenRequired = async (request) => {
        const found = await tokens.getTokenFromRequest(request)
        return found === null ? required(request) : tokens.verify(found.token)
      }
      Object.assign(tokens, { accessTokenRequired: twice })
      return application
    })
    await expect(failures(broken)).resolves.toEqual(
      inBoth(['a guard and a parameter on one route ask the revocation callback once']),
    )
  })

  test('that never asks the revocation callback', async () => {
    const broken = startBroken((application) => {
      application.tokens.setCallbackTokenBlocklist(() => false)
      return application
    })
    expect(await failures(broken)).toEqual(
      expect.arrayContaining(inBoth(['GET /profile, token: revoked', 'DELETE /logout, token: revoked'])),
    )
  })

  test('that ignores --profile payload', async () => {
    const application = createApplication()
    const failed = await failures(async (options) => ({
      ...(await start(application, { ...options, framework: 'fetch', port: 0, profile: 'message' })),
      checks: () => application.checks(),
    }))
    expect(failed).toEqual(['it: --profile payload gives the claims on /profile'])
  })
})

test('an application that cannot count its checks is not asked to', async () => {
  const withoutChecks: StartApplication = async (options): Promise<RunningApplication> =>
    start(createApplication(), { ...options, framework: 'fetch', port: 0 })
  await expect(failures(withoutChecks)).resolves.toEqual([])
})

test('every application that was started is closed', async () => {
  let [started, closed] = [0, 0]
  await failures(async (options) => {
    const server = await start(createApplication(), { ...options, framework: 'fetch', port: 0 })
    started++
    const close = async (): Promise<void> => {
      closed++
      await server.close()
    }
    return { ...server, close }
  })
  expect([started, closed]).toEqual([3, 3])
})

test('a login, a token or a logout that fails is an error of its own, not a request without a token', async () => {
  const application = createApplication()
  const unavailable = () => Promise.reject(new RevocationUnavailableError(new Error('The store is down')))
  const broken = { ...application, login: unavailable, logout: unavailable }
  const options = { framework: 'fetch', port: 0, profile: 'message', handleErrors: true } as const
  const server = await start(broken, options)
  try {
    const client = createClient(server.url)
    const failed = { code: 'ERR_ASSERTION', actual: 503, expected: 200 }
    await expect(client.login()).rejects.toMatchObject(failed)
    await expect(client.credential('refresh')).rejects.toMatchObject(failed)
    await expect(client.credential('revoked')).rejects.toMatchObject(failed)
    await expect(createClient(`${server.url}/elsewhere`).credential('valid')).rejects.toMatchObject({
      code: 'ERR_ASSERTION',
      actual: 404,
    })
  } finally {
    await server.close()
  }
})

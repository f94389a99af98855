import { expect, onTestFinished, test } from 'vitest'
import type { TokenPair } from '../../packages/tokenlib/src/index.js'
import { describeWithStores } from './places.js'
import type { Application, Release } from './start-application.js'

const LIMIT = 180_000
const LANES = 4
/** Answers that each lane gets before the next process is replaced. */
const ANSWERS_PER_STEP = 12

interface Client {
  readonly uid: string
  /** The release that has opened its session. */
  readonly opener: Release
  pair: TokenPair
}

/** Clients that go through the processes in turn, and check every answer. */
function startLoad(applications: () => readonly Application[]) {
  const wrong: string[] = []
  const state = { answers: 0, isRunning: true }

  const expectCode = async (what: string, call: Promise<unknown>, code: string | null): Promise<void> => {
    const found = await call.then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    state.answers++
    if (found !== code) wrong.push(`${what}: ${String(found)} instead of ${String(code)}`)
  }

  const refresh = async (client: Client, application: Application): Promise<void> => {
    const { refreshToken } = client.pair
    // It does not name its parent.
    if (client.opener === '0.1.0' && application.release === 'new') {
      await expectCode('refresh of a session of 0.1.0', application.refresh(refreshToken), 'TOKEN_INVALID')
    } else client.pair = await application.refresh(refreshToken)
  }

  const run = async (lane: number): Promise<void> => {
    let turn = lane
    const next = (): Application => {
      const list = applications()
      return list[turn++ % list.length] as Application
    }
    for (let round = 0; state.isRunning; round++) {
      const [uid, opener] = [`user-${lane}-${round}`, next()]
      const client: Client = { uid, opener: opener.release, pair: await opener.logIn(uid) }
      await expectCode('check', next().check(client.pair.accessToken), null)
      for (let times = 0; times < 2; times++) {
        await refresh(client, next())
        await expectCode('check after a refresh', next().check(client.pair.accessToken), null)
      }
      const [sid, listed] = [await next().sid(client.pair.accessToken), await next().list(client.uid)]
      if (listed.length !== 1 || listed[0] !== sid) wrong.push('list')
      if (round % 3 === 0) await next().logout(client.pair.accessToken)
      else if (round % 3 === 1) await next().revokeUser(client.uid)
      else await next().revokeSession(sid)
      for (let times = 0; times < 3; times++) {
        await expectCode('check after it was revoked', next().check(client.pair.accessToken), 'TOKEN_REVOKED')
      }
      await expectCode(
        'refresh after it was revoked',
        next().refresh(client.pair.refreshToken),
        'TOKEN_REVOKED',
      )
    }
  }
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    run(lane).catch((error: unknown) => void wrong.push(`lane ${lane}: ${String(error)}`)),
  )

  return {
    wrong,
    /** Resolves after so many more answers. */
    async progress(count: number): Promise<void> {
      const target = state.answers + count
      while (state.answers < target && wrong.length === 0)
        await new Promise((resolve) => setImmediate(resolve))
    },
    async stop(): Promise<void> {
      state.isRunning = false
      await Promise.all(lanes)
    },
  }
}

describeWithStores('a rolling upgrade', (programs, createOptions) => {
  test(
    'replaces three processes one by one under load, and goes back, with no wrong answer',
    async () => {
      const options = createOptions()
      const start = (release: Release): Application => programs().start(release, options)
      let applications = [start('0.1.0'), start('0.1.0'), start('0.1.0')]
      onTestFinished(() => Promise.all(applications.map((one) => one.stop())).then(() => undefined))
      // Of before the upgrade; good to its end.
      const early = await (applications[0] as Application).logIn('early')
      const load = startLoad(() => applications)
      for (const release of ['new', '0.1.0'] as const) {
        for (let at = 0; at < 3; at++) {
          await load.progress(LANES * ANSWERS_PER_STEP)
          const leaving = applications[at] as Application
          const coming = start(release)
          // It takes requests once it is ready.
          expect(await coming.check(early.accessToken)).toBe('early')
          applications = applications.with(at, coming)
          await load.progress(LANES * ANSWERS_PER_STEP)
          await leaving.stop()
        }
      }
      await load.progress(LANES * ANSWERS_PER_STEP)
      await load.stop()
      expect(load.wrong).toEqual([])
      for (const application of applications) expect(await application.check(early.accessToken)).toBe('early')
    },
    LIMIT,
  )
})

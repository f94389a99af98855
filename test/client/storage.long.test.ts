import { expect, test } from 'vitest'
import type { TokenClient, TokenClientError } from '../../packages/client/src/index.js'
import { ADA } from './open-server.js'
import { locked, openDevice } from './open-storage.js'

const REFRESH = 'POST /auth/refresh'
const STEPS = 100

test.each(Array.from({ length: 6 }, (_, at) => at + 1))(
  'two processes that crash, lose responses and cannot write stay logged in (seed %i)',
  async (seed) => {
    const { startApp, origin, clock, plan, device, events } = await openDevice()
    const random = createRandom(seed)
    const apps = [startApp(), startApp()] as [TokenClient, TokenClient]
    await apps[0].logIn(ADA)
    const outcomes = new Set<string>()
    for (let step = 0; step < STEPS; step++) {
      clock.seconds += [0, 1, 30, 1000, 1000, 5 * 3600][random(6)] as number
      const answer = random(3)
      plan(REFRESH, async (_request, next) => {
        // 0: the request is lost, 1: the response.
        const response = answer === 0 ? null : await next()
        return answer === 2 ? response : null
      })
      device.before = random(4) === 0 ? { write: locked } : {}
      if (random(4) === 0) apps[random(2)] = startApp()
      const used = random(2) === 0 ? apps : [apps[random(2)] as TokenClient]
      const calls = used.map(async (app) => app.fetch(`${origin}/notes`))
      for (const result of await Promise.allSettled(calls)) {
        // A connection that is dropped takes the requests of the other process along.
        if (result.status === 'fulfilled') outcomes.add(String(result.value.status))
        else outcomes.add((result.reason as TokenClientError).code ?? 'lost')
      }
    }
    plan(REFRESH)
    device.before = {}
    expect(await startApp().start()).toMatchObject({ sub: 'ada' })
    expect(['200', 'UNAVAILABLE', 'lost']).toEqual(expect.arrayContaining([...outcomes]))
    expect(events).not.toContain('loggedOut')
  },
)

function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}

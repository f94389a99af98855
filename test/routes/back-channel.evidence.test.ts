import { expect, test } from 'vitest'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { measureLogouts, percentile } from './back-channel/measure-logouts.js'

const ROUNDS = 20

describeWithRedis('a back-channel logout that arrives at one of five processes', (url) => {
  test('is known to all of them within the bound of their replicas', { timeout: 300_000 }, async () => {
    const { replicas, slowest, direct, responses, late, wrong } = await measureLogouts(url, ROUNDS)
    const describe = (values: readonly number[]): string =>
      `p50 ${percentile(values, 0.5)} ms, p99 ${percentile(values, 0.99)} ms`
    console.log(
      `from a back-channel logout to refusal, ${ROUNDS} logouts: each of four processes ${describe(replicas)}; ` +
        `the last of them ${describe(slowest)}; without a replica ${describe(direct)}; response ${describe(responses)}`,
    )
    expect({ checked: replicas.length + direct.length, late, wrong }).toEqual({
      checked: 5 * ROUNDS,
      late: 0,
      wrong: 0,
    })
  })
})

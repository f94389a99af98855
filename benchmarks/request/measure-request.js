import { alternate } from '../alternate.js'
import { createGroup, toCount } from '../group.js'
import { listSteps } from '../growth/steps.js'

/**
 * Part 2: the whole check of a request, from its header to the store, without a framework.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureRequest(run) {
  const { quick, report, revokedServers } = run
  const pace = quick
    ? { rounds: 3, sampleMs: 50, warmUpMs: 300 }
    : { rounds: 7, sampleMs: 150, warmUpMs: 500 }
  const steps = listSteps(run).filter((step) => step !== 100_000)
  const contestants = await Promise.all([
    startContestant('no revocation', revokedServers.get('none')),
    startContestant('callback', revokedServers.get('callback')),
    ...steps.map((count) =>
      startContestant(`memory store, ${toCount(count)} revoked`, revokedServers.get('memory store', count)),
    ),
  ])
  for (const { child } of contestants) await child.ask(pace.warmUpMs)
  const samples = await alternate(contestants, pace.rounds, ({ child }) => child.ask(pace.sampleMs))
  report(createGroup('request', 'accessTokenRequired on a request view, repeated tokens', samples))
}

async function startContestant(name, starting) {
  return { name, child: await starting }
}

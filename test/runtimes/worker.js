// The smoke test and the contract of stores as a Worker. Each step is a request: what belongs to one must not be used in
// another, and a step that hangs must not take the others with it.
import { createMemoryStore } from 'tokenlib/memory'
import { storeContract } from '@tokenlib/contracts'
import { createRunner, runStep } from './runner.js'
import { STEPS } from './smoke/steps.js'

export default {
  async fetch(request) {
    const [, cell, at] = new URL(request.url).pathname.split('/')
    if (cell === 'smoke' && at === undefined) return Response.json(STEPS.map(([name]) => name))
    if (cell === 'smoke') return Response.json(await runStep(...STEPS[Number(at)]))
    return Response.json(await runContract())
  },
}

async function runContract() {
  const runner = createRunner()
  storeContract(
    'memory',
    {
      open: (_, clock) => createMemoryStore({ clock }),
      isShared: false,
      checksSynchronously: true,
      limitsSessions: true,
      keepsData: true,
      spends: true,
    },
    runner,
  )
  const results = []
  await runner.run((result) => results.push(result))
  return results
}

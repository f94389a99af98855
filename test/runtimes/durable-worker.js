// The contract of the Durable Objects store, in a Worker that has the objects as well.
import { env } from 'cloudflare:workers'
import { createDurableObjectStore, TokenStoreObject } from 'tokenlib/durable-objects'
import { storeContract } from '@tokenlib/contracts'
import { createRunner } from './runner.js'

const clocks = new Map()

/** A store whose clock the contract sets; it runs in the same isolate as the object. */
export class ContractStoreObject extends TokenStoreObject {
  #storage

  constructor(context, given) {
    super(context, given, { clock: clocks.get(context.id.name) })
    this.#storage = context.storage
  }

  async fetch(request) {
    if (request.url !== 'https://wipe.test/') return super.fetch(request)
    await this.#storage.deleteAll()
    return new Response()
  }
}

const kind = {
  open(place, clock) {
    clocks.set(place, clock)
    return createDurableObjectStore(env.STORE, { name: place, onWarning: () => {} })
  },
  isShared: true,
  limitsSessions: true,
  keepsData: true,
  spends: true,
  wipe: (place) => env.STORE.get(env.STORE.idFromName(place)).fetch('https://wipe.test/'),
}

export default {
  async fetch() {
    const runner = createRunner()
    storeContract('Durable Objects', kind, runner)
    const results = []
    await runner.run((result) => results.push(result))
    return Response.json(results)
  },
}

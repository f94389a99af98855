import type { RevocationStore, TokenConfigOptions, TokenManager } from 'tokenlib'
import { replicate } from 'tokenlib/replica'
import { type Application, createApplication } from './application.js'
import type { StoreChoice } from './options.js'
import type { PageOptions } from './page.js'
import { createStoreSwitch, type StoreSwitch } from './store-switch.js'
import { openStore } from './stores.js'

/** An application whose store is ready, and how to close it. */
export interface OpenApplication {
  readonly application: Application
  /** `undefined` for the callback, which needs none. */
  readonly store: RevocationStore | undefined
  /** The managers that log users out: the application's and the page's. */
  readonly managers: readonly TokenManager[]
  close(): Promise<void>
}

/** What to open. */
export interface OpenOptions {
  readonly store: StoreChoice
  readonly replica?: boolean
  /** What the page shows about the application. If omitted, no page is served. A page needs a store. */
  readonly pageFacts?: PageOptions['facts']
}

/** The maximum age of a process's replica. */
export const REPLICA_BOUND = '1s'

/** The application with the store that the command line names; `options` are configuration fields. */
export async function openApplication(
  { store: choice, replica = false, pageFacts }: OpenOptions,
  options: TokenConfigOptions = {},
): Promise<OpenApplication> {
  const opened = await openStore(choice)
  const storeSwitch = opened !== null && pageFacts !== undefined ? createStoreSwitch(opened.store) : null
  const direct = storeSwitch?.store ?? opened?.store
  const store = replica && direct !== undefined ? replicate(direct, { bound: REPLICA_BOUND }) : direct
  const close = async (): Promise<void> => {
    await store?.close()
    await opened?.close()
  }
  try {
    const application = createApplication(store, options)
    await application.tokens.ready()
    if (store === undefined || storeSwitch === null || pageFacts === undefined) {
      return { application, store, managers: [application.tokens], close }
    }
    const { tokens, routes } = await openPage(application, { store, storeSwitch, facts: pageFacts })
    return {
      application: { ...application, routes },
      store,
      managers: [application.tokens, tokens],
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openPage(
  { tokens }: Application,
  parts: {
    readonly store: RevocationStore
    readonly storeSwitch: StoreSwitch
    readonly facts: PageOptions['facts']
  },
) {
  // Only here: the page reads files, which not every runtime has.
  const { createPage } = await import('./page.js')
  const page = createPage({ config: tokens.config, ...parts })
  await page.tokens.ready()
  return page
}

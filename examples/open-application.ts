import type { RevocationStore, TokenConfigOptions } from 'tokenlib'
import { replicate } from 'tokenlib/stores/replica'
import { type Application, createApplication } from './application.js'
import type { StoreChoice } from './options.js'
import { openStore } from './stores.js'

/** An application whose store is ready, and how to close it. */
export interface OpenApplication {
  readonly application: Application
  /** `undefined` for the callback, which needs none. */
  readonly store: RevocationStore | undefined
  close(): Promise<void>
}

/** How old the replica of a process may be. */
export const REPLICA_BOUND = '1s'

/** The application with the store that the command line names; `options` are configuration fields. */
export async function openApplication(
  { store: choice, replica = false }: { readonly store: StoreChoice; readonly replica?: boolean },
  options: TokenConfigOptions = {},
): Promise<OpenApplication> {
  const opened = await openStore(choice)
  const store = replica && opened !== null ? replicate(opened.store, { bound: REPLICA_BOUND }) : opened?.store
  const close = async (): Promise<void> => {
    await store?.close()
    await opened?.close()
  }
  try {
    const application = createApplication(store, options)
    await application.tokens.ready()
    return { application, store, close }
  } catch (error) {
    await close()
    throw error
  }
}

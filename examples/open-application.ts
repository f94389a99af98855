import type { TokenConfigOptions } from 'tokenlib'
import { type Application, createApplication } from './application.js'
import type { StoreChoice } from './options.js'
import { openStore } from './stores.js'

/** An application whose store is ready, and how to close it. */
export interface OpenApplication {
  readonly application: Application
  close(): Promise<void>
}

/** The application with the store that the command line names; `options` are configuration fields. */
export async function openApplication(
  choice: StoreChoice,
  options: TokenConfigOptions = {},
): Promise<OpenApplication> {
  const opened = await openStore(choice)
  const close = async (): Promise<void> => opened?.close()
  try {
    const application = createApplication(opened?.store, options)
    await application.tokens.ready()
    return { application, close }
  } catch (error) {
    await close()
    throw error
  }
}

import { globals, type PageChannel } from './options.js'
import type { TokenSession } from './types.js'

/** How a session can change, other than by its end. */
export type Change = 'loggedIn' | 'refreshed'

/** What a tab tells the others. */
export interface TabMessage<Claims> {
  readonly name: Change | 'loggedOut'
  /** The new one, or the one that has ended, if the tab knows it. */
  readonly session?: TokenSession<Claims> | null | undefined
  /** Of the session that has ended: all of its tokens have this value. */
  readonly csrf?: string | null | undefined
}

/** The channel to the other tabs that use the same routes, if there are any and the runtime has one. */
export function joinTabs<Claims>(
  routes: string | false | undefined,
  listener: (message: TabMessage<Claims>) => void,
): PageChannel | null {
  if (!routes || !globals.BroadcastChannel) return null
  const channel = new globals.BroadcastChannel(`tokenlib ${routes}`)
  // Other scripts of the origin may send anything.
  channel.onmessage = ({ data }) => listener(Object(data) as TabMessage<Claims>)
  return channel
}

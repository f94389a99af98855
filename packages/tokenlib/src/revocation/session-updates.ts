import { ConfigurationError, RevocationUnavailableError } from '../errors.js'
import { sessionsOf } from './opening.js'
import { parseText, toStoredId } from './revocation.js'
import { parseWritten } from './session-answers.js'
import { assertChanges, changeData, readData, type SessionDataSchema } from './session-data.js'
import { type SessionInfo, type SessionStore, type StoredSession, toInfo } from './session-store.js'
import type { RevocationStore } from './store.js'
import type { StoreClient } from './store-client.js'

/** The data of sessions in a store. */
export interface SessionUpdates {
  /**
   * The text of the data of a new session. Rejects with `SessionDataError` if the data cannot be kept, and with
   * `ConfigurationError` if the store keeps none.
   */
  toText(data: unknown): Promise<string | null>
  /** Changes the data of a live session of a user; `null` if the user has no such session. */
  update(id: string, uid: string, changes: unknown): Promise<SessionInfo | null>
}

/** Reads one live session. */
export type ReadSession = <Value>(sid: string, read: (found: StoredSession) => Value) => Promise<Value | null>

// Each attempt that fails means that another change was made.
const MAX_ATTEMPTS = 20

/** Changes the data of sessions, so that changes at the same time are all kept. */
export function createSessionUpdates(
  client: StoreClient,
  store: RevocationStore,
  schema: SessionDataSchema | null,
  readOne: ReadSession,
): SessionUpdates {
  return {
    async toText(data) {
      dataStoreOf(store)
      assertChanges(data)
      return changeData(schema, null, data)
    },
    async update(id, uid, changes) {
      const sid = parseText('A session id', id)
      const user = toStoredId(parseText('uid', uid))
      // Thrown outside of the call: a store that keeps no data is not unavailable.
      dataStoreOf(store)
      assertChanges(changes)
      // A session may have been opened before there was a schema, and its user may name the device all the same.
      const isOnlyLabel = Object.keys(changes).every((name) => name === 'label')
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const known = await readOne(sid, (found) => ({ found, members: readData(found.data ?? null) }))
        if (known === null || known.found.user !== user) return null
        const { found, members } = known
        const { data: before = null } = found
        const data = await changeData(isOnlyLabel ? null : schema, members, changes)
        if (data === before) return toInfo(found)
        const isWritten = await client.call('writeData', async () =>
          parseWritten(await dataStoreOf(store).writeData(toStoredId(sid), data, before)),
        )
        if (isWritten) return toInfo({ ...found, data })
      }
      throw new RevocationUnavailableError(new Error('Too many changes of one session at the same time'))
    },
  }
}

function dataStoreOf(store: RevocationStore): Required<SessionStore> {
  const sessions = sessionsOf(store)
  if (sessions.writeData !== undefined) return sessions as Required<SessionStore>
  throw new ConfigurationError(
    'Data of sessions needs a store that can keep it, and this one has no sessions.writeData',
  )
}

import type { TokenClientOptions, TokenStorage } from '../../packages/client/src/index.js'
import { openServer } from './open-server.js'

/** The key store of a device: what is in it survives the app, and each of its calls can be made to fail. */
export function createDevice() {
  const device = {
    stored: null as string | null,
    calls: [] as string[],
    /** What happens before a call is carried out. */
    before: {} as Partial<Record<'read' | 'write' | 'remove', () => void | Promise<void>>>,
  }
  const storage: TokenStorage = {
    async read() {
      device.calls.push('read')
      await device.before.read?.()
      return device.stored
    },
    async write(value) {
      device.calls.push('write')
      await device.before.write?.()
      device.stored = value
    },
    async remove() {
      device.calls.push('remove')
      await device.before.remove?.()
      device.stored = null
    },
  }
  return Object.assign(device, { storage })
}

/** A server, a device, and its app, which `start` starts again: only the storage is left of the one before. */
export async function openDevice(options: TokenClientOptions = {}) {
  const server = await openServer()
  const device = createDevice()
  const events: string[] = []
  const startApp = (more: TokenClientOptions = {}) => {
    const client = server.createClient({ storage: device.storage, ...options, ...more })
    for (const name of ['loggedIn', 'refreshed', 'loggedOut'] as const)
      client.on(name, () => events.push(name))
    for (const name of ['offline', 'storageFailed'] as const) {
      client.on(name, ({ code }) => events.push(`${name} ${code}`))
    }
    return client
  }
  return { ...server, device, events, startApp }
}

/** A storage call that fails as the Keychain does while the phone is locked. */
export const locked = (): never => {
  throw new Error('errSecInteractionNotAllowed')
}

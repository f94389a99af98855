import { findNats } from './find-servers.js'
import { createGuardedFolder } from './guarded-folder.js'
import { type RunningServer, startServerProcess } from './server-process.js'

/** Starts a NATS server of the caller's own, with JetStream in a folder of its own. */
export async function startNats(): Promise<RunningServer> {
  const command = findNats()
  if (command === null) throw new Error('There is no nats-server on this machine.')
  const folder = createGuardedFolder('tokenlib-nats-', 'KILL')
  return startServerProcess({
    command,
    args: (port) => ['--addr', '127.0.0.1', '--port', String(port), '-js', '--store_dir', folder.path],
    url: (port) => `nats://127.0.0.1:${port}`,
    folder,
    endSignal: 'SIGKILL',
    isReady: /Server is ready/,
  })
}

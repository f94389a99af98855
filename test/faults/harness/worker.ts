import { openManager, type OpenManager } from './place.js'
import { fillMemory } from './fill-memory.js'
import { countAccepted } from './outcomes.js'
import {
  type LogoutStep,
  machineNow,
  type RefreshReport,
  type WorkerMessage,
  type WorkerRequest,
} from './worker-protocol.js'

let manager: OpenManager | undefined

function use(): OpenManager['tokens'] {
  if (manager === undefined) throw new Error('The worker has no store yet')
  return manager.tokens
}

function say(message: WorkerMessage): void {
  process.send?.(message)
}

async function refresh(token: string, count: number, startAt: number): Promise<RefreshReport> {
  const tokens = use()
  // A timer would be up to a millisecond off, and in that time all of it is over.
  while (machineNow() < startAt);
  const sentAt = machineNow()
  const settled = await Promise.allSettled(
    Array.from({ length: count }, () => tokens.sessions.refresh(token)),
  )
  const answeredAt = machineNow()
  return {
    successors: settled.flatMap((one) => (one.status === 'fulfilled' ? (one.value.refreshToken ?? []) : [])),
    errors: settled.flatMap((one) =>
      one.status === 'rejected' ? [String((one.reason as { code?: string }).code ?? one.reason)] : [],
    ),
    sentAt,
    answeredAt,
  }
}

async function logOutUntilKilled(): Promise<void> {
  const tokens = use()
  const logOut = async (lane: number): Promise<never> => {
    for (let at = 0; ; at++) {
      const pair = await tokens.sessions.open({ uid: `user-${process.pid}-${lane}-${at}` })
      const { accessToken, refreshToken } = pair
      const payload = await tokens.verify(accessToken)
      report({ step: 'begins', login: { accessToken, refreshToken } })
      await tokens.logout(payload)
      report({ step: 'acknowledged', accessToken })
    }
  }
  const report = (logout: LogoutStep): void => say({ logout })
  // Several at once, so that at any moment one of them is within its logout.
  await Promise.all([0, 1, 2, 3].map(logOut))
}

async function answer(request: WorkerRequest): Promise<unknown> {
  switch (request.name) {
    case 'open':
      manager = await openManager(...request.values)
      return null
    case 'refresh':
      return refresh(...request.values)
    case 'logOutUntilKilled':
      return logOutUntilKilled()
    case 'countAccepted':
      return countAccepted(use(), ...request.values)
    case 'fillMemory':
      return fillMemory(...request.values)
  }
}

process.on('message', (request: WorkerRequest) => {
  answer(request).then(
    (value) => say({ value }),
    (error: unknown) =>
      say({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
// Its parent is gone.
process.on('disconnect', () => process.exit())

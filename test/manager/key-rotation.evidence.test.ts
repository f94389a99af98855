import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleWorker, type WorkerProgram } from '../faults/harness/bundle-worker.js'
import { createKeyPair } from '../helpers/keys.js'
import type { RotationCommand, RotationReport, SentKey } from './key-rotation-child.js'

// Long enough for the first key to retire.
const ROTATIONS = 14
const PERIOD_MS = 1000
const LIFETIME_SECONDS = 10
const LEEWAY_SECONDS = 1
// A token of the process that is most ahead is 0.8 seconds in the future of the one that is most behind.
const OFFSETS_MS = [-400, -150, 150, 400]
// A key is needed until the tokens expire that it signed until its successor started.
const NEEDED_MS = (LIFETIME_SECONDS + LEEWAY_SECONDS) * 1000

const MATERIAL = Array.from({ length: ROTATIONS + 1 }, (_, index) => ({
  kid: `key ${index}`,
  privateKey: createKeyPair('ES256').privateKey.export({ format: 'jwk' }) as SentKey['privateKey'],
}))

let program: WorkerProgram
beforeAll(async () => void (program = await bundleWorker('test/manager/key-rotation-child.ts')))
afterAll(() => program.remove())

interface Outcome {
  readonly created: number
  readonly verified: number
  readonly reports: readonly RotationReport[]
}

/** Processes that send each other every token, while `rotate` runs. */
async function runProcesses(
  keys: readonly SentKey[],
  rotate: (send: (index: number, command: RotationCommand) => void) => Promise<void>,
): Promise<Outcome> {
  const children: ChildProcess[] = OFFSETS_MS.map(() => fork(program.path, [], { execArgv: [] }))
  try {
    const send = (index: number, command: RotationCommand): void => void children[index]?.send(command)
    const waitFor = (member: 'stopped' | 'report') =>
      Promise.all(
        children.map(
          (child) =>
            new Promise<unknown>((resolve, reject) => {
              child.on('message', (message: Record<string, unknown>) => {
                if (member in message) resolve(message[member])
              })
              child.once('exit', () => reject(new Error('A process has ended')))
            }),
        ),
      )
    children.forEach((child, index) => {
      child.on('message', (message: { readonly tokens?: readonly string[] }) => {
        const { tokens } = message
        if (tokens === undefined) return
        children.forEach((_, other) => other !== index && send(other, { tokens }))
      })
      const [lifetimeSeconds, leewaySeconds] = [LIFETIME_SECONDS, LEEWAY_SECONDS]
      send(index, { start: keys, offsetMs: OFFSETS_MS[index] as number, lifetimeSeconds, leewaySeconds })
    })
    await Promise.race([rotate(send), ...children.map(failOnExit)])
    const stopped = waitFor('stopped')
    children.forEach((_, index) => send(index, { stop: true }))
    await stopped
    const reported = waitFor('report')
    children.forEach((_, index) => send(index, { report: true }))
    const reports = (await reported) as RotationReport[]
    const sum = (name: 'created' | 'verified') => reports.reduce((total, report) => total + report[name], 0)
    return { created: sum('created'), verified: sum('verified'), reports }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

async function failOnExit(child: ChildProcess): Promise<never> {
  await once(child, 'exit')
  throw new Error('A process has ended')
}

/** Resolves at a moment in epoch milliseconds. */
const at = (moment: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, Math.max(0, moment - Date.now())))

function expectNoRefusal(title: string, { created, verified, reports }: Outcome): void {
  const refusals = reports.flatMap(({ refused }) => Object.entries(refused))
  const count = refusals.reduce((total, [, each]) => total + each, 0)
  console.log(
    `${title}: ${ROTATIONS} rotations, ${OFFSETS_MS.length} processes, ${created} tokens, ${verified} checks, ${count} refusals`,
  )
  expect(refusals).toEqual([])
  for (const report of reports) {
    expect(report.kids).toHaveLength(ROTATIONS + 1)
    expect(report.first).toBe('TOKEN_SIGNATURE_INVALID')
  }
}

describe('processes whose clocks differ refuse no token of each other while their keys rotate', () => {
  test('by the dates of one list', async () => {
    const start = Date.now() + 2000
    const keys = MATERIAL.map((key, index) => ({
      ...key,
      notBefore: index === 0 ? null : start + index * PERIOD_MS,
      retireAt: index === ROTATIONS ? null : start + (index + 1) * PERIOD_MS + NEEDED_MS,
    }))
    const outcome = await runProcesses(keys, () => at(start + (ROTATIONS + 2) * PERIOD_MS))
    expectNoRefusal('one list', outcome)
  })

  test('by keys.set, which reaches each process at another moment', async () => {
    const start = Date.now() + 2000
    const startOf = (index: number): number => start + index * PERIOD_MS
    // The next key is in the list of every process before it signs; an old one until its tokens have expired.
    const listAt = (index: number): SentKey[] =>
      MATERIAL.map((key, place) => ({ ...key, notBefore: startOf(place), retireAt: null })).filter(
        (_, place) => place <= index + 1 && startOf(place + 1) + NEEDED_MS > startOf(index) - PERIOD_MS,
      )
    const first = listAt(0).map((key, place) => (place === 0 ? { ...key, notBefore: null } : key))
    const outcome = await runProcesses(first, async (send) => {
      for (let index = 1; index <= ROTATIONS; index++) {
        await at(startOf(index) - PERIOD_MS / 2)
        // Before the key after the next one starts, by the clock that is most ahead.
        const delay = (process: number): number => process * 25
        for (const process of OFFSETS_MS.keys()) {
          await at(startOf(index) - PERIOD_MS / 2 + delay(process))
          send(process, {
            setKeys: listAt(index).map((key, place) => (place === 0 ? { ...key, notBefore: null } : key)),
          })
        }
      }
      await at(startOf(ROTATIONS + 2))
    })
    expectNoRefusal('setKeys', outcome)
  })
})

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { SignFunction } from '../../packages/tokenlib/src/index.js'

/** How a KMS answers from now on. `raw` and `der` are the two forms of ECDSA signatures. */
export type KmsBehaviour =
  | 'der'
  | 'raw'
  | 'fail'
  | 'hang'
  | 'wrong key'
  | 'garbage'
  | 'text'
  | 'nothing'
  | 'short'

/** A key service in a thread of its own: the private key never leaves it. */
export interface Kms {
  readonly publicKey: KeyObject
  readonly sign: SignFunction
  /** What it was asked to sign, in order. */
  readonly asked: string[]
  /** How often the deadline of a call has passed. */
  readonly aborted: () => number
  behave(behaviour: KmsBehaviour): void
  close(): Promise<void>
}

// In JavaScript: threads do not compile TypeScript.
const CODE = `
const { sign } = require('node:crypto')
const { parentPort, workerData } = require('node:worker_threads')
parentPort.on('message', ({ id, input, behaviour }) => {
  if (behaviour === 'hang') return
  if (behaviour === 'fail') return parentPort.postMessage({ id, error: 'AccessDeniedException' })
  const key = behaviour === 'wrong key' ? workerData.other : workerData.own
  const dsaEncoding = behaviour === 'raw' ? 'ieee-p1363' : 'der'
  parentPort.postMessage({ id, signature: sign(workerData.hash, input, { key, dsaEncoding }) })
})
`

/** A key service with a new key. */
export async function startKms(curve: 'P-256' | 'P-384' | 'P-521' | 'rsa' = 'P-256'): Promise<Kms> {
  const hash = { 'P-256': 'sha256', 'P-384': 'sha384', 'P-521': 'sha512', rsa: 'sha256' }[curve]
  const generate = () =>
    curve === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: curve })
  const { privateKey, publicKey } = generate()
  const toPem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' })
  const keys = { own: toPem(privateKey), other: toPem(generate().privateKey) }
  const worker = new Worker(CODE, { eval: true, workerData: { hash, ...keys } })
  const waiting = new Map<number, (answer: { signature?: Uint8Array; error?: string }) => void>()
  const asked: string[] = []
  let behaviour: KmsBehaviour = 'der'
  let aborted = 0
  worker.on('message', ({ id, ...answer }: { id: number }) => waiting.get(id)?.(answer))
  worker.unref()

  return {
    publicKey,
    asked,
    aborted: () => aborted,
    behave: (next) => void (behaviour = next),
    async sign(input, { signal }) {
      signal.addEventListener('abort', () => aborted++)
      const id = asked.push(Buffer.from(input).toString())
      const answer = await new Promise<{ signature?: Uint8Array; error?: string }>((resolve) => {
        waiting.set(id, resolve)
        worker.postMessage({ id, input, behaviour }, [])
      })
      if (answer.signature === undefined) throw new Error(answer.error)
      return spoil(answer.signature, behaviour)
    },
    async close() {
      await worker.terminate()
    },
  }
}

function spoil(signature: Uint8Array, behaviour: KmsBehaviour): Uint8Array {
  if (behaviour === 'garbage') return Buffer.alloc(signature.length, 0xff)
  if (behaviour === 'short') return signature.subarray(0, -1)
  if (behaviour === 'text') return Buffer.from(signature).toString('base64') as never
  return behaviour === 'nothing' ? (undefined as never) : signature
}

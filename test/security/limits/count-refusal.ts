import { isTokenError } from '../../../packages/tokenlib/src/index.js'
import { countWork, type Work } from './count-work.js'

/** More than a refusal at first sight needs; what is refused so is from two to four thousand times as long. */
export const FIXED_WORK = 4096

export const MIB = 2 ** 20

/** Ten megabytes, of what some header of a request is made of. */
export const TEN_MEGABYTES = 10_000_000

/** What it cost to refuse something; throws unless it was refused, and with an error of this library. */
export async function countRefusal(run: () => unknown): Promise<Work> {
  const { work, error } = await countWork(run)
  if (error === null) throw new Error('It was not refused')
  if (!isTokenError(error)) throw new Error('It crashed', { cause: error })
  return work
}

/** What it cost to do something; throws unless that worked. The control of every limit: the counter is alive. */
export async function countSuccess(run: () => unknown): Promise<Work> {
  const { work, error } = await countWork(run)
  if (error !== null) throw new Error('It was refused', { cause: error })
  if (work.total === 0) throw new Error('Nothing was counted')
  return work
}

/** How much of the work is reading a text as base64, UTF-8 or JSON. */
export function decodingOf({ by }: Work): number {
  return DECODERS.reduce((sum, name) => sum + (by[name] ?? 0), 0)
}

const DECODERS = [
  'Buffer.from',
  'Buffer.toString',
  'Buffer.write',
  'TextDecoder.decode',
  'JSON.parse',
  'global.atob',
]

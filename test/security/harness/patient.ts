import type { TokenConfigOptions } from '../../../src/index.js'
import { createRevocable } from '../../helpers/revocable.js'

/** How long a check may take where its deadline is not what is attacked: a busy machine must not pass for a refusal. */
export const PATIENT = { JWT_REVOCATION_TIMEOUT: '20s' } as const satisfies TokenConfigOptions

/** A manager with a memory store on one clock, that waits for its store. */
export function createPatient(
  options: TokenConfigOptions = {},
  given: Parameters<typeof createRevocable>[1] = {},
): ReturnType<typeof createRevocable> {
  return createRevocable({ ...PATIENT, ...options }, given)
}

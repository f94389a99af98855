import type { TokenPayload } from '../claims/payload.js'
import { ConfigurationError, SubjectNotFoundError } from '../errors.js'

/** Finds what a token's subject stands for, a user record for example; `null` or `undefined` means there is none. */
export type SubjectGetter<Subject, Payload = TokenPayload> = (
  uid: string,
  payload: Payload,
) => Subject | null | undefined | Promise<Subject | null | undefined>

/** What a getter finds for a payload, or the error for finding nothing. */
export async function findSubject<Subject, Payload extends { readonly sub: string }>(
  getter: SubjectGetter<Subject, Payload> | null,
  payload: Payload,
): Promise<NonNullable<Subject>> {
  if (getter === null) {
    throw new ConfigurationError(
      'getCurrentSubject needs a subject getter; register one with setSubjectGetter',
    )
  }
  const subject = await getter(payload.sub, payload)
  if (subject === null || subject === undefined) throw new SubjectNotFoundError()
  return subject
}

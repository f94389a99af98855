import type { TokenPayload } from '../tokens/payload.js'
import { ConfigurationError, SubjectNotFoundError } from '../errors.js'

/** Finds what a token's subject stands for, a user record for example; `null` or `undefined` means there is none. */
export type SubjectGetter<Subject, Payload = TokenPayload> = (
  uid: string,
  payload: Payload,
) => Subject | null | undefined | Promise<Subject | null | undefined>

/** What the getter finds for a payload; `SubjectNotFoundError` for nothing, `ConfigurationError` without a getter. */
export async function findSubject<Subject, Payload extends Pick<TokenPayload, 'sub'>>(
  getter: SubjectGetter<Subject, Payload> | null,
  payload: Payload,
): Promise<NonNullable<Subject>> {
  if (getter === null) {
    throw new ConfigurationError(
      'getCurrentSubject needs a subject getter: register one with setSubjectGetter()',
    )
  }
  const subject = await getter(payload.sub, payload)
  if (subject === null || subject === undefined) throw new SubjectNotFoundError()
  return subject
}

import { isJsonObject } from 'tokenlib/kit'
import type { ReceiverTokens } from './receiver.js'

/** For a sender, by its issuer: the issuers whose users it may name beside its own. */
export type SubjectIssuers = Readonly<Record<string, readonly string[]>>

/** The issuers whose users a sender may name, itself included. */
export function readSubjectIssuers(given: SubjectIssuers, sender: string): readonly string[] {
  const others = Object.hasOwn(given, sender) ? (given[sender] ?? []) : []
  return [...new Set([sender, ...others])]
}

/** Throws unless all issuers in it are issuers of the manager. */
export function assertSubjectIssuers(tokens: Pick<ReceiverTokens, 'toSubject'>, given: SubjectIssuers): void {
  if (!isJsonObject(given))
    throw new TypeError('subjectIssuers must be an object with a list for each sender')
  for (const [sender, issuers] of Object.entries(given)) {
    if (!Array.isArray(issuers))
      throw new TypeError(`subjectIssuers: the issuers of ${sender} must be a list`)
    // Throws for an issuer that the manager does not have: a spelling mistake would leave its users signed in.
    for (const issuer of [sender, ...(issuers as readonly string[])]) tokens.toSubject(issuer, 'sub')
  }
}

import type { Lab } from './attack.js'
import { forge } from './forge.js'
import { skipAttack } from './skip-attack.js'

/**
 * A verifier is given a text or bytes and no algorithm, and has to find out what it holds. Anyone who knows the text makes
 * an HS256 token with it: the verifier must refuse the text, or the token.
 */
export async function tryUntold(lab: Lab, texts: readonly (string | Uint8Array)[]): Promise<void> {
  // Its keys have types: an application says itself whether a text is a secret or a public key.
  if (lab.target.name === 'jose') skipAttack(lab.target, 'keys without a type')
  for (const text of texts) {
    for (const algorithm of ['HS256', 'HS384', 'HS512']) {
      await lab.refusesKey({ key: text }, forge({ algorithm, key: text }))
    }
  }
}

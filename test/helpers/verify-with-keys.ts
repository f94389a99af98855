import { type KeyObject, sign } from 'node:crypto'
import {
  findSigner,
  parseCompact,
  parseHeader,
  TOKEN_TYPES,
} from '../../packages/tokenlib/src/tokens/compact.js'
import type { SourceKeys } from '../../packages/tokenlib/src/tokens/token-source.js'

/** Whether the keys of an issuer verify an ES256 token that this key signs; false also if they must be loaded first. */
export function verifyWithKeys(keys: SourceKeys, key: KeyObject, kid: string): boolean {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = `${encode({ alg: 'ES256', kid })}.${encode({ sub: 'ada' })}`
  let signature: Buffer
  // High s is refused at this layer.
  do signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  while ((signature[32] as number) >= 0x7f)
  const jws = parseCompact(`${input}.${signature.toString('base64url')}`, 8192)
  try {
    return findSigner(keys.find(parseHeader(jws.header, TOKEN_TYPES)) ?? [], jws).kid === kid
  } catch {
    return false
  }
}

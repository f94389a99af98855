import { createHash, type KeyObject } from 'node:crypto'

/** The PEM text of a public key (RFC 7468 §13). */
export function toPem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'spki' }) as string
}

/** The PEM text of an RSA public key as PKCS #1 has it. */
export function toPkcs1Pem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs1' }) as string
}

/** The DER bytes of a public key (RFC 5280 §4.1). */
export function toDer(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' })
}

/** A public key as JSON text (RFC 7517). */
export function toJwkText(key: KeyObject): string {
  return JSON.stringify(key.export({ format: 'jwk' }))
}

/** A public key as one line of `authorized_keys` (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4). */
export function toSshLine(key: KeyObject): string {
  const [name = '', ...fields] = sshFields(key)
  const blob = Buffer.concat([name, ...fields].map(sshString))
  return `${name.toString()} ${blob.toString('base64')} ada@laptop`
}

function sshFields(key: KeyObject): (Buffer | string)[] {
  const jwk = key.export({ format: 'jwk' })
  const bytes = (text = ''): Buffer => Buffer.from(text, 'base64url')
  if (jwk.kty === 'RSA') return ['ssh-rsa', positive(bytes(jwk.e)), positive(bytes(jwk.n))]
  if (jwk.kty === 'OKP') return ['ssh-ed25519', bytes(jwk.x)]
  const point = Buffer.concat([Buffer.from([4]), bytes(jwk.x), bytes(jwk.y)])
  return ['ecdsa-sha2-nistp256', 'nistp256', point]
}

// RFC 4251 §5: an integer whose first bit is set has a zero byte before it.
function positive(bytes: Buffer): Buffer {
  return (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
}

function sshString(field: Buffer | string): Buffer {
  const bytes = Buffer.from(field as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** Every form of a public key that an attacker can make from any one of them. */
export function spellings(key: KeyObject): readonly (string | Buffer)[] {
  const pem = toPem(key)
  const der = toDer(key)
  return [
    pem,
    pem.trimEnd(),
    pem.replaceAll('\n', '\r\n'),
    pem.replaceAll('\n', String.raw`\n`),
    ...(key.asymmetricKeyType === 'rsa' ? [toPkcs1Pem(key), toPkcs1Pem(key).trimEnd()] : []),
    der,
    der.toString('base64'),
    der.toString('hex'),
    createHash('sha256').update(der).digest(),
    toJwkText(key),
    JSON.stringify(key.export({ format: 'jwk' }), null, 2),
    toSshLine(key),
    Buffer.from(key.export({ format: 'jwk' }).n ?? key.export({ format: 'jwk' }).x ?? '', 'base64url'),
  ]
}

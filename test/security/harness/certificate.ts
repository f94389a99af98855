import type { KeyObject } from 'node:crypto'
import { generate } from 'selfsigned'

/** A certificate in PEM that a key pair signed for itself. */
export async function createCertificate(pair: {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}): Promise<string> {
  const { cert } = await generate([{ name: 'commonName', value: 'issuer.example' }], {
    algorithm: 'sha256',
    keyPair: {
      privateKey: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      publicKey: pair.publicKey.export({ format: 'pem', type: 'spki' }) as string,
    },
  })
  return cert
}

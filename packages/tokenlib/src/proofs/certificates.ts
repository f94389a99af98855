import { createHash, X509Certificate } from 'node:crypto'
import type { RequestView } from '../http/view.js'
import { callable, flag, type OptionKinds, parseOptions } from '../options.js'

/** A client certificate: DER bytes, or PEM text. */
export type ClientCertificate = Uint8Array | string

/** Accepts tokens that are bound to a client certificate (mutual TLS, RFC 8705 §3). */
export interface MtlsOptions {
  /**
   * Reads the certificate of the client, or `null`. The default is the certificate of the TLS connection, which Node has.
   * Behind a proxy, read the header in which the proxy passes it on, and make the proxy remove that header from requests.
   */
  readonly readCertificate?: (request: RequestView) => ClientCertificate | null | undefined
  /** Refuses access tokens that are not bound to a certificate, on every route. Default `false`. */
  readonly required?: boolean
}

/** Reads the thumbprint of a request's client certificate. */
export interface Certificates {
  readonly isRequired: boolean
  /** The SHA-256 of the certificate (`x5t#S256`), or `null` for a request without one. */
  readThumbprint(view: RequestView): string | null
}

const OPTIONS: OptionKinds<MtlsOptions> = { readCertificate: callable(), required: flag }

/** A reader for the options, or `TypeError`. */
export function createCertificates(options: MtlsOptions): Certificates {
  const { readCertificate = readConnection, required = false } = parseOptions('mtls', options, OPTIONS)
  return {
    isRequired: required,
    readThumbprint(view) {
      const certificate: unknown = readCertificate(view)
      if (certificate === null || certificate === undefined) return null
      return createHash('sha256').update(toDer(certificate)).digest('base64url')
    },
  }
}

function readConnection({ certificate }: RequestView): Uint8Array | null {
  // Otherwise nobody would notice that no token is ever bound.
  if (certificate === undefined) {
    throw new TypeError('This server does not tell the certificates of clients: set readCertificate of mtls')
  }
  return certificate
}

function toDer(certificate: unknown): Uint8Array {
  if (certificate instanceof Uint8Array) return certificate
  if (typeof certificate !== 'string') {
    throw new TypeError('readCertificate() must return DER bytes, PEM text or null')
  }
  try {
    return new X509Certificate(certificate).raw
  } catch {
    // Without a cause: it would show what a client has sent.
    throw new TypeError('readCertificate() must return a certificate in PEM')
  }
}

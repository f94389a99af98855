import { createHash, X509Certificate } from 'node:crypto'
import type { RequestView } from '../http/view.js'
import { callable, flag, type OptionKinds, parseOptions } from '../options.js'

/** A client certificate: DER bytes, or PEM text. */
export type ClientCertificate = Uint8Array | string

/** Accepts tokens that are bound to a client certificate (mutual TLS, RFC 8705 §3). */
export interface MtlsOptions {
  /**
   * Reads the client certificate of a request, or `null`. By default, this is the certificate of the TLS connection,
   * which Node has. Behind a proxy, read the header that the proxy sets, and make the proxy remove that header from
   * incoming requests.
   */
  readonly readCertificate?: (request: RequestView) => ClientCertificate | null | undefined
  /** Rejects tokens of either type that are not bound to a certificate, on every route. Default `false`. */
  readonly required?: boolean
}

/** Reads the thumbprint of a request's client certificate. */
export interface Certificates {
  readonly isRequired: boolean
  /** The SHA-256 of the certificate (`x5t#S256`), or `null` for a request without a certificate. */
  readThumbprint(view: RequestView): string | null
}

const OPTIONS: OptionKinds<MtlsOptions> = { readCertificate: callable(), required: flag }

/** Creates a certificate reader from the options. Throws `TypeError` for invalid options. */
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
  // Without this error, nobody would notice that tokens are never bound.
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
    // No `cause`: it would reveal what the client sent.
    throw new TypeError('readCertificate() must return a certificate in PEM')
  }
}

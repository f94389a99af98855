import type { JwsHeader } from 'tokenlib/kit'
import type { BoundKey, KeyLoader, SourceKeys } from 'tokenlib/kit'
import { fetchBeforeDeadline, type FetchRules, type JsonFetcher } from './fetch-json.js'
import { bindKeySet, listIds, notLookedFor, selectIssuerKeys } from './jwk-set.js'
import { createBackground, createKeyCache, type KeyParts } from './key-cache.js'

/** Where keys are fetched from, and how; everything is checked. */
export interface RemoteSource {
  readonly kind: 'jwksUri' | 'discovery'
  readonly url: string
  readonly rules: FetchRules
  readonly maxKeys: number
}

/** The keys that an issuer publishes. Nothing is sent before the first of them is needed. */
export function createRemoteKeys(source: RemoteSource, parts: KeyParts): SourceKeys {
  const { issuer, algorithms } = parts
  const fetchEntries = source.kind === 'jwksUri' ? fetchSet(source) : discoverSet(source, parts)

  const cache = createKeyCache({
    ...parts,
    load: async (previous) => {
      const entries = await fetchBeforeDeadline(
        source.rules,
        parts.runtime.scheduler,
        source.url,
        fetchEntries,
      )
      return bindKeySet(entries, { algorithms, previous })
    },
  })

  const isMissing = (keys: readonly BoundKey[], header: JwsHeader): boolean =>
    selectIssuerKeys(keys, header).length === 0 && couldBePublished(keys, header, algorithms)

  const find: SourceKeys['find'] = (header, isFinal = false) => {
    const keys = cache.current()
    if (keys === null) return null
    const selected = selectIssuerKeys(keys, header)
    if (isFinal || selected.length > 0) return selected
    return couldBePublished(keys, header, algorithms) && cache.mayHaveMore() ? null : selected
  }

  const load: KeyLoader['load'] = async (header, mustBeCertain = false) => {
    if (!mustBeCertain) return find(header) === null ? cache.load() : undefined
    const keys = cache.current()
    if (keys !== null && !isMissing(keys, header)) return
    const isCertain = await cache.loadAnew()
    if (!isCertain && isMissing(cache.current() ?? [], header)) throw notLookedFor(issuer)
  }
  const background = createBackground(parts.runtime)

  return {
    find,
    idsOf: (kid) => listIds(cache.last(), kid),
    isTrusted: (key) => cache.isTrusted(key),
    loader: {
      load,
      prepare: (header) => background.start(() => load(header)),
      async ready() {
        if (cache.current() === null) await cache.load()
        await background.done()
      },
    },
  }
}

// Whether a key that is missing can be in the next answer. Several keys without a `kid` stay ambiguous after a reload.
function couldBePublished(
  keys: readonly BoundKey[],
  { alg, kid }: JwsHeader,
  algorithms: readonly string[],
): boolean {
  if (!algorithms.includes(alg) || kid === '') return false
  return kid !== undefined || !keys.some((key) => key.algorithm === alg)
}

type FetchEntries = (fetchJson: JsonFetcher) => Promise<readonly unknown[]>

function fetchSet({ url, maxKeys }: RemoteSource): FetchEntries {
  return async (fetchJson) => parseEntries(await fetchJson(url), maxKeys)
}

// Finds the URL of the keys in the metadata of the issuer (OpenID Connect Discovery §4, RFC 8414 §3), and remembers it for
// `maxAge` while it works: a load for an unknown key is one request, not two.
function discoverSet(
  { url, maxKeys }: RemoteSource,
  { issuer, timing, runtime: { scheduler } }: KeyParts,
): FetchEntries {
  let known: { readonly jwksUri: string; readonly foundAt: number } | null = null
  return async (fetchJson) => {
    const time = scheduler.monotonicNow()
    const isFresh = known !== null && time - known.foundAt < timing.maxAgeMs
    const found =
      isFresh && known ? known : { jwksUri: parseJwksUri(await fetchJson(url), issuer), foundAt: time }
    // Until the request has succeeded.
    known = null
    const entries = parseEntries(await fetchJson(found.jwksUri), maxKeys)
    known = found
    return entries
  }
}

function parseJwksUri(document: Readonly<Record<string, unknown>>, issuer: string): string {
  // OpenID Connect Discovery §4.3: otherwise the document of another issuer could name the keys of this one.
  if (document['issuer'] !== issuer) throw new Error('The discovery document has another "issuer"')
  const { jwks_uri: jwksUri } = document
  if (typeof jwksUri !== 'string') throw new Error('The discovery document has no "jwks_uri"')
  return jwksUri
}

function parseEntries({ keys }: Readonly<Record<string, unknown>>, maxKeys: number): readonly unknown[] {
  if (!Array.isArray(keys)) throw new Error('The key set has no list "keys"')
  if (keys.length > maxKeys) throw new Error(`The key set has more than ${maxKeys} keys`)
  return keys as readonly unknown[]
}

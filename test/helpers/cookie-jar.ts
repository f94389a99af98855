/** A `Set-Cookie` value taken apart (RFC 6265 §5.2); attribute names in lower case, `true` for those without a value. */
export interface ParsedCookie {
  readonly name: string
  readonly value: string
  readonly attributes: Readonly<Record<string, string | true>>
}

/** Takes one `Set-Cookie` value apart. */
export function parseSetCookie(header: string): ParsedCookie {
  const [pair = '', ...rest] = header.split(';').map((part) => part.trim())
  const [name, value] = splitOnce(pair)
  const attributes = rest.map((part) => {
    const [key, text] = splitOnce(part)
    return [key.toLowerCase(), part.includes('=') ? text : true] as const
  })
  return { name, value, attributes: Object.fromEntries(attributes) }
}

/** Takes several `Set-Cookie` values apart, by cookie name. */
export function parseSetCookies(headers: readonly string[]): Record<string, ParsedCookie> {
  return Object.fromEntries(headers.map(parseSetCookie).map((cookie) => [cookie.name, cookie]))
}

/** A browser's cookies, as far as these tests need one: a cookie is its name, domain and path (RFC 6265 §5.3). */
export function createCookieJar() {
  const cookies = new Map<string, ParsedCookie>()
  return {
    store(headers: readonly string[]): void {
      for (const cookie of headers.map(parseSetCookie)) {
        const { domain = '', path = '', 'max-age': maxAge } = cookie.attributes
        const key = [cookie.name, domain, path].join(' ')
        if (maxAge !== undefined && Number(maxAge) <= 0) cookies.delete(key)
        else cookies.set(key, cookie)
      }
    },
    /** The `Cookie` header for a path, or nothing at all. */
    headers(path = '/'): Record<string, string> {
      const sent = [...cookies.values()].filter(({ attributes }) =>
        path.startsWith(String(attributes['path'])),
      )
      return sent.length === 0 ? {} : { cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; ') }
    },
    /** What a script of the page could read. */
    read(name: string): string | undefined {
      const found = [...cookies.values()].find((cookie) => cookie.name === name)
      return found?.attributes['httponly'] === undefined ? found?.value : undefined
    },
  }
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf('=')
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

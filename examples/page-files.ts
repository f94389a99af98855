import { readFileSync } from 'node:fs'

/** The files of the page by their path below it; `client.js` is `@tokenlib/client`. */
export function readPageFiles(): ReadonlyMap<string, () => Response> {
  const page = new URL('page/', import.meta.url)
  return new Map([
    ['', createFile(new URL('index.html', page))],
    ...['style.css', 'page.js', 'view.js'].map(
      (name) => [`/${name}`, createFile(new URL(name, page))] as const,
    ),
    ['/client.js', createFile(new URL(import.meta.resolve('@tokenlib/client/bundle')))],
  ])
}

/** What stands in the way of injected scripts, of frames around the page, and of caches. */
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The empty icon of the page: without one, browsers ask for /favicon.ico.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  html: 'text/html',
  js: 'text/javascript',
}

function createFile(url: URL): () => Response {
  const text = readFileSync(url, 'utf8')
  const type = MEDIA_TYPES[url.pathname.split('.').at(-1) ?? '']
  const headers = { ...SECURITY_HEADERS, 'content-type': `${type}; charset=utf-8` }
  return () => new Response(text, { headers })
}

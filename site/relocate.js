// Makes the built site independent of the path that it is served at: it is built for a placeholder, which is then
// replaced by relative addresses in HTML and style sheets, and in scripts by the path that head.js finds at run time.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'vite'

/** The `base` that the site is built with. */
export const BASE_PLACEHOLDER = '/__site_base__/'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // The colours of code are style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Rewrites the files of a built site. */
export function relocate(folder) {
  const inlineScripts = new Set()
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, path)
    const rewrite = REWRITE[posix.extname(path)]
    if (rewrite === undefined) continue
    writeFileSync(file, rewrite(readFileSync(file, 'utf8'), path.replaceAll('\\', '/'), inlineScripts))
  }
  const head = join(folder, 'head.js')
  writeFileSync(head, [readFileSync(head, 'utf8'), ...inlineScripts, ''].join(';\n'))
}

const REWRITE = {
  '.html': (html, path, inlineScripts) =>
    toRelative(html, path)
      .replaceAll(/<script id="[^"]+">([^]*?)<\/script>/g, (_, script) => {
        inlineScripts.add(script.trim())
        return ''
      })
      .replace(
        '<meta charset="utf-8">',
        `<meta charset="utf-8">\n    <meta http-equiv="Content-Security-Policy" content="${POLICY}">\n` +
          `    <script src="${toTop(path)}head.js"></script>`,
      ),
  '.css': toRelative,
  '.js': (code) => (code.includes(BASE_PLACEHOLDER) ? withBaseAtRunTime(code) : code),
}

function toRelative(text, path) {
  return text.replaceAll(BASE_PLACEHOLDER, toTop(path))
}

function toTop(path) {
  return '../'.repeat(path.split('/').length - 1) || './'
}

/** Wraps each string that has the placeholder in a call that replaces it. */
function withBaseAtRunTime(code) {
  const found = []
  collectStrings(parseAst(code), code, found)
  let output = ''
  let end = 0
  for (const node of found.toSorted((one, other) => one.start - other.start)) {
    const text = code.slice(node.start, node.end)
    output += `${code.slice(end, node.start)}(${text}).replaceAll("${BASE_PLACEHOLDER}",globalThis.SITE_BASE)`
    end = node.end
  }
  return output + code.slice(end)
}

function collectStrings(node, code, found) {
  if (node === null || typeof node !== 'object') return
  if (Array.isArray(node)) {
    for (const child of node) collectStrings(child, code, found)
    return
  }
  if (node.type === 'Literal' || node.type === 'TemplateLiteral') {
    if (code.slice(node.start, node.end).includes(BASE_PLACEHOLDER)) found.push(node)
    return
  }
  for (const child of Object.values(node)) collectStrings(child, code, found)
}

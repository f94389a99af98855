import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const SITE = join(root, 'build/site')

/** Builds the site as `npm run site -- build` does. */
export async function buildSite(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'site/main.js'), 'build'], { cwd: root })
}

/** The HTML files of the built site, as paths in it. */
export function listPages(): string[] {
  return readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.html') && path !== '404.html')
    .toSorted()
}

/** Addresses in a page that lead to nothing: files that are not there, and anchors that no heading has. */
export function findBrokenLinks(page: string): string[] {
  const html = readFileSync(join(SITE, page), 'utf8')
  const addresses = Array.from(html.matchAll(/ (?:href|src)="([^"]*)"/g), ([, address = '']) => address)
  return [...new Set(addresses)].filter((address) => !leadsSomewhere(page, address.replaceAll('&amp;', '&')))
}

/** The hosts that a page would load something from. */
export function findForeignResources(page: string): string[] {
  const html = readFileSync(join(SITE, page), 'utf8')
  const loaded = html.matchAll(
    /<(?:img|script|link|iframe|source)\b[^>]*? (?:href|src)="((?:https?:)?\/\/[^"]*)"/g,
  )
  return Array.from(loaded, ([, address = '']) => address)
}

function leadsSomewhere(page: string, address: string): boolean {
  if (/^(?:https?:|mailto:|data:)/.test(address)) return true
  const [, path = '', anchor = ''] = /^([^#?]*)(?:#(.*))?$/.exec(address) ?? []
  // An absolute path holds at one base only.
  if (path.startsWith('/')) return false
  const target = path === '' ? page : posix.join(posix.dirname(page), decodeURI(path))
  const file = target.endsWith('/') || target === '.' ? posix.join(target, 'index.html') : target
  if (!existsSync(join(SITE, file))) return false
  return anchor === '' || readIds(file).has(decodeURIComponent(anchor))
}

const known = new Map<string, Set<string>>()

function readIds(file: string): Set<string> {
  const found = known.get(file)
  if (found !== undefined) return found
  const html = readFileSync(join(SITE, file), 'utf8')
  const ids = new Set(Array.from(html.matchAll(/ (?:id|name)="([^"]+)"/g), ([, id = '']) => id))
  // Put in by the application: the content of a page, for readers who skip the navigation.
  ids.add('VPContent')
  known.set(file, ids)
  return ids
}

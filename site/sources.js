// Which files of the repository become which pages and images of the site.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const SOURCE_FOLDER = join(ROOT, 'build/site-source')
export const REPOSITORY = 'https://github.com/tokenlib/tokenlib'

// Pages that are not in docs/. The keys are paths in the repository.
const PROJECT_PAGES = {
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'benchmarks/README.md': 'benchmarks.md',
}

/** Pictures of which the site has a light and a dark version, by their paths in the repository. */
export const CHARTS = {
  'benchmarks/results/chart.svg': 'images/chart.svg',
  'docs/images/rotation-chart.svg': 'images/rotation-chart.svg',
}

/** The side bar's entries of these pages. */
export const PROJECT_ITEMS = [
  { text: 'Benchmarks', page: 'benchmarks' },
  { text: 'Changelog', page: 'changelog' },
  { text: 'Contributing', page: 'contributing' },
  { text: 'Security policy', page: 'security' },
]

/** The path on the site of a Markdown file or image of the repository, or `null` for what the site does not have. */
export function toSitePath(path) {
  if (path in PROJECT_PAGES) return PROJECT_PAGES[path]
  if (path === 'README.md') return 'index.md'
  if (path in CHARTS) return CHARTS[path]
  if (path === 'docs/decisions') return 'decisions/index.md'
  if (path.startsWith('docs/') && /\.(?:md|png|svg)$/.test(path)) return path.slice('docs/'.length)
  return null
}

/** The path in the repository that a page of the site was made from, or `null` for a generated page. */
export function toRepositoryPath(sitePath) {
  const project = Object.entries(PROJECT_PAGES).find(([, page]) => page === sitePath)
  if (project !== undefined) return project[0]
  return existsSync(join(ROOT, 'docs', sitePath)) ? `docs/${sitePath}` : null
}

/** All Markdown files of docs/, as paths in it without `.md`. */
export function listDocs() {
  return readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.md'))
    .map((path) => path.slice(0, -'.md'.length))
    .toSorted()
}

/** What is copied as it is: pairs of a path in the repository and one on the site. */
export function listSources() {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .filter((path) => statSync(join(ROOT, path)).isFile())
  return [...docs, ...Object.keys(PROJECT_PAGES)]
    .map((from) => [from, toSitePath(from)])
    .filter(([, to]) => to !== null)
}

/**
 * Where a relative link in a file of the repository leads on the site: a page, an image or GitHub.
 *
 * `null` for what is not a relative link, and for a link within the page.
 */
export function resolveLink(from, link, isImage = false) {
  if (/^(?:[a-z]+:|\/|#)/i.test(link)) return null
  const [, path, anchor = ''] = /^([^#]*)(#.*)?$/.exec(link)
  const target = posix.join(dirname(from), decodeURI(path)).replace(/\/$/, '')
  const page = toSitePath(target)
  // Images have no address of their own on the site: a link to one leads to GitHub.
  if (page !== null && (isImage || page.endsWith('.md'))) return { page, anchor }
  if (!existsSync(join(ROOT, target)))
    throw new Error(`${from}: "${link}" leads to no file of the repository`)
  const kind = statSync(join(ROOT, target)).isDirectory() ? 'tree' : 'blob'
  return { url: `${REPOSITORY}/${kind}/main/${target}${anchor}` }
}

/** The first heading of a Markdown file, without marks. */
export function readTitle(path) {
  const [, title] = /^# +(.+)$/m.exec(readFileSync(path, 'utf8')) ?? []
  if (title === undefined) throw new Error(`${path} has no title`)
  return title.replaceAll('`', '')
}

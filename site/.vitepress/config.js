import { defineConfig } from 'vitepress'
import { readFileSync } from 'node:fs'
import { charts } from '../markdown/charts.js'
import { repositoryLinks } from '../markdown/links.js'
import { toAnchor } from '../markdown/slugs.js'
import { tables } from '../markdown/tables.js'
import { tabs } from '../markdown/tabs.js'
import { BASE_PLACEHOLDER } from '../relocate.js'
import { createSideBar } from '../side-bar.js'
import { REPOSITORY, toRepositoryPath } from '../sources.js'

const [current, ...older] = JSON.parse(readFileSync(new URL('../versions.json', import.meta.url), 'utf8'))
const gitHubIcon = readFileSync(new URL('./github.svg', import.meta.url), 'utf8').trim()
const isBuild = process.env.SITE_COMMAND === 'build'
const base = isBuild ? BASE_PLACEHOLDER : '/'

export default defineConfig({
  title: 'tokenlib',
  description: 'JWT access and refresh tokens for TypeScript servers, with a logout that works.',
  lang: 'en',
  base,
  srcDir: '../build/site-source',
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  // A script of its own instead of an inline one, for the content security policy.
  metaChunk: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}favicon.svg` }]],
  markdown: {
    anchor: { slugify: toAnchor },
    config(markdown) {
      markdown.options.highlight = remember(markdown.options.highlight)
      markdown.use(repositoryLinks)
      markdown.use(tabs)
      markdown.use(tables)
      markdown.use(charts)
    },
  },
  themeConfig: {
    logo: '/favicon.svg',
    nav: [
      { text: 'Guide', link: '/getting-started', activeMatch: '^/(?!reference|changelog|$)' },
      { text: 'API', link: '/reference/', activeMatch: '^/reference/' },
      {
        text: current.version,
        items: [
          { text: `What is new in ${current.version}`, link: '/changelog' },
          ...older.map(({ version, link }) => ({ text: version, link })),
        ],
      },
    ],
    sidebar: createSideBar(),
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: true } },
    // Not by its name: the server for authors would load it from a service.
    socialLinks: [{ icon: { svg: gitHubIcon }, link: REPOSITORY, ariaLabel: 'GitHub' }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page on GitHub' },
    externalLinkIcon: true,
  },
  // What `editLink` puts in place of `:path`.
  transformPageData(page) {
    const path = toRepositoryPath(page.relativePath)
    if (path !== null) page.filePath = path
    else if (page.relativePath === 'index.md') page.filePath = 'site/index.md'
    else page.frontmatter.editLink = false
  },
})

// A page is rendered three times: for browsers, for the server and for the search. Colouring code is most of the time.
function remember(highlight) {
  const known = new Map()
  return (...values) => {
    const key = JSON.stringify(values)
    if (!known.has(key)) known.set(key, highlight(...values))
    return known.get(key)
  }
}

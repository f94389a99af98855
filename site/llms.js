// The documentation for language models: llms.txt lists the pages, each of which is there as Markdown too, and
// llms-full.txt has the guides in one file.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { listGroups } from './side-bar.js'
import { resolveLink, SOURCE_FOLDER, toRepositoryPath } from './sources.js'

const DESCRIPTION =
  'JWT access and refresh tokens for TypeScript servers, with revocation and sessions in Redis, PostgreSQL, SQLite, Durable Objects or memory; for NestJS, Fastify, Express, Hono, Koa, h3, Elysia and Fetch handlers.'

/** Writes llms.txt, llms-full.txt and a Markdown file for each page. */
export function writeTexts(folder) {
  const groups = listGroups()
  const list = [`# tokenlib`, '', `> ${DESCRIPTION}`, '']
  const full = [...list]
  for (const { text, items } of groups) {
    list.push(`## ${text}`, '', ...items.map((item) => `- [${item.text}](${item.page}.md)`), '')
    for (const item of items) {
      const page = `${item.page}.md`
      const markdown = toSiteMarkdown(page)
      const target = join(folder, page)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, markdown)
      const isGuide = item.folder === undefined && !page.startsWith('reference/')
      if (isGuide) full.push(`<!-- ${page} -->`, '', markdown)
    }
  }
  writeFileSync(join(folder, 'llms.txt'), list.join('\n'))
  writeFileSync(join(folder, 'llms-full.txt'), full.join('\n'))
}

/** A page with links that lead to the Markdown files of the site, or to GitHub. */
function toSiteMarkdown(page) {
  const markdown = readFileSync(join(SOURCE_FOLDER, page), 'utf8')
  const from = toRepositoryPath(page)
  if (from === null) return markdown
  const parts = markdown.split(/(^ *```[^]*?^ *```$)/m)
  // Every second part is a code block.
  return parts.map((part, at) => (at % 2 === 1 ? part : withLinks(part, from, page))).join('')
}

function withLinks(text, from, page) {
  return text.replaceAll(/\]\(([^)\s]+)\)/g, (whole, link) => {
    const found = resolveLink(from, link)
    if (found === null) return whole
    return `](${found.url ?? posix.relative(posix.dirname(page), found.page) + found.anchor})`
  })
}

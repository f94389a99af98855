import { posix } from 'node:path'
import { resolveLink, toRepositoryPath } from '../sources.js'

/**
 * A markdown-it plugin: relative links and images work on the site as they do on GitHub.
 *
 * A link to another page becomes one to its place on the site. A link to any other file leads to GitHub.
 */
export function repositoryLinks(markdown) {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    // A title in the front matter is parsed without a page.
    const from = env.relativePath === undefined ? null : toRepositoryPath(env.relativePath)
    if (from === null) return
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'link_open') rewrite(token, 'href', from, env.relativePath)
      if (token.type === 'image') rewrite(token, 'src', from, env.relativePath)
    }
  })
}

function rewrite(token, attribute, from, sitePath) {
  const found = resolveLink(from, token.attrGet(attribute), attribute === 'src')
  if (found === null) return
  if (found.url !== undefined) return token.attrSet(attribute, found.url)
  const relative = posix.relative(posix.dirname(sitePath), found.page)
  token.attrSet(attribute, `./${relative}${found.anchor}`)
}

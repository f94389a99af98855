/**
 * A markdown-it plugin for tabs that GitHub shows as one block after the other:
 *
 *     <!-- tabs -->
 *     **Hono**
 *     (a code block, and text)
 *     **Express**
 *     …
 *     <!-- /tabs -->
 */
export function tabs(markdown) {
  markdown.core.ruler.push('tabs', (state) => {
    let groups = 0
    const output = []
    for (let at = 0; at < state.tokens.length; at++) {
      if (!isMark(state.tokens[at], '<!-- tabs -->')) {
        output.push(state.tokens[at])
        continue
      }
      const end = state.tokens.findIndex((token, index) => index > at && isMark(token, '<!-- /tabs -->'))
      if (end === -1) throw new Error(`${state.env.relativePath}: "<!-- tabs -->" has no "<!-- /tabs -->"`)
      output.push(
        ...createGroup(state, splitByName(state.tokens.slice(at + 1, end), state), `tabs-${++groups}`),
      )
      at = end
    }
    state.tokens = output
  })
}

function isMark(token, mark) {
  return token.type === 'html_block' && token.content.trim() === mark
}

// A paragraph that is nothing but bold text names the tab of what follows it.
function splitByName(tokens, state) {
  const found = []
  for (let at = 0; at < tokens.length; at++) {
    const name = tokens[at].type === 'paragraph_open' ? readName(tokens[at + 1]) : null
    if (name !== null) {
      found.push({ name, tokens: [] })
      at += 2
    } else if (found.length === 0) {
      throw new Error(`${state.env.relativePath}: tabs must start with a name in bold`)
    } else found.at(-1).tokens.push(tokens[at])
  }
  return found
}

function readName({ content }) {
  return /^\*\*([^*]+)\*\*$/.exec(content.trim())?.[1] ?? null
}

// The elements of VitePress' own code groups, whose style and script they share.
function createGroup(state, panels, id) {
  const html = (content) => Object.assign(new state.Token('html_block', '', 0), { content })
  const escape = state.md.utils.escapeHtml
  const labels = panels.map(
    ({ name }, at) =>
      `<input type="radio" name="${id}" id="${id}-${at}"${at === 0 ? ' checked' : ''}>` +
      `<label data-title="${escape(name)}" for="${id}-${at}">${escape(name)}</label>`,
  )
  return [
    html(
      `<div class="vp-code-group tab-group"><div class="tabs">${labels.join('')}</div><div class="blocks">\n`,
    ),
    ...panels.flatMap(({ tokens }, at) => [
      html(`<div class="tab-panel${at === 0 ? ' active' : ''}">\n`),
      ...tokens,
      html('</div>\n'),
    ]),
    html('</div></div>\n'),
  ]
}

/**
 * A markdown-it plugin: each cell knows the heading of its column.
 *
 * On a phone, the style sheet shows a wide table as a list of rows, with these headings in front of the cells.
 */
export function tables(markdown) {
  // The one of VitePress leaves out every attribute.
  markdown.renderer.rules.table_open = (tokens, at, options, _env, self) =>
    self.renderToken(tokens, at, options)
  markdown.core.ruler.push('table-labels', ({ tokens }) => {
    let table = null
    let headings = []
    let column = 0
    for (const [at, token] of tokens.entries()) {
      if (token.type === 'table_open') {
        table = token
        table.attrSet('tabindex', '0')
        headings = []
      } else if (token.type === 'tr_open') column = 0
      else if (token.type === 'th_open') headings.push(readText(tokens[at + 1]))
      else if (token.type === 'thead_close') {
        if (headings.length > 2) table.attrJoin('class', 'is-wide')
        if (headings.length > 4) table.attrJoin('class', 'is-matrix')
      } else if (token.type === 'td_open') token.attrSet('data-label', headings[column++])
    }
  })
}

function readText({ children }) {
  return children.map(({ content }) => content).join('')
}

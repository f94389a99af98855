// Turns what a command prints on a terminal with colours into a page that a browser takes a picture of.

const STYLES = {
  1: 'font-weight:700',
  2: 'color:#8b949e',
  31: 'color:#ff7b72;font-weight:700',
  32: 'color:#7ee787;font-weight:700',
  33: 'color:#e3b341;font-weight:700',
}

/**
 * A page that shows a window of a terminal.
 *
 * @param {string} command What was typed.
 * @param {string} output With the escape sequences of colours (ECMA-48 §8.3.117).
 */
export function createTerminalPage(command, output) {
  const body = `<span class="prompt">$</span> ${escape(command)}\n${toHtml(output)}`
  return `<!doctype html><meta charset="utf-8"><title>${escape(command)}</title><style>
  body { margin: 0; padding: 24px; background: #fff; width: max-content }
  pre { margin: 0; padding: 20px 24px; border-radius: 10px; background: #0d1117; color: #e6edf3;
    font: 14px/1.45 'DejaVu Sans Mono', Menlo, Consolas, monospace }
  .prompt { color: #7ee787 }
</style><pre>${body}</pre>`
}

function toHtml(output) {
  let isOpen = false
  const [first, ...parts] = escape(output.trimEnd()).split('\u001B[')
  const html = parts.map((part) => {
    const [, code, text] = /^(\d+)m(.*)$/s.exec(part)
    const end = isOpen ? '</span>' : ''
    isOpen = code in STYLES
    return `${end}${isOpen ? `<span style="${STYLES[code]}">` : ''}${text}`
  })
  return first + html.join('') + (isOpen ? '</span>' : '')
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

// A chart follows the colours of the system. On the site it follows the colours of the page: one picture per colour scheme,
// and the style sheet shows one of them.
const DARK = /@media \(prefers-color-scheme: dark\) \{([^]*?)\n {2}\}/

/** Splits a chart into a light and a dark version. */
export function splitChart(svg) {
  if (!DARK.test(svg)) throw new Error('The chart has no dark colours')
  return { light: svg.replace(DARK, ''), dark: svg.replace(DARK, '$1') }
}

/** A markdown-it plugin: images of charts become both pictures. */
export function charts(markdown) {
  const render = markdown.renderer.rules.image
  markdown.renderer.rules.image = (tokens, at, options, env, self) => {
    const token = tokens[at]
    const source = token.attrGet('src')
    if (!source.endsWith('chart.svg')) return render(tokens, at, options, env, self)
    const pictures = ['light', 'dark'].map((colours) => {
      token.attrSet('src', source.replace(/chart\.svg$/, `chart-${colours}.svg`))
      token.attrSet('class', `chart only-${colours}`)
      return render(tokens, at, options, env, self)
    })
    return `<span class="chart-frame">${pictures.join('')}</span>`
  }
}

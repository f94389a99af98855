// A chart follows the colours of the system. On the site it follows those of the page: one picture for each, of which the
// style sheet shows one.
const DARK = /@media \(prefers-color-scheme: dark\) \{([^]*?)\n {2}\}/

/** Splits a chart into a light and a dark version. Images cannot load fonts, so this embeds the site's font. */
export function splitChart(svg, font) {
  if (!DARK.test(svg)) throw new Error('The chart has no dark colours')
  const url = `data:font/woff2;base64,${font.toString('base64')}`
  const face = `@font-face { font-family: Inter; font-weight: 100 900; src: url(${url}) }`
  const whole = svg.replace('<style>', `<style>\n  ${face}`)
  return { light: whole.replace(DARK, ''), dark: whole.replace(DARK, '$1') }
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

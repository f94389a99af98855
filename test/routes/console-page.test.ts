import { describe, expect, test } from 'vitest'
import {
  CONSOLE_LIVE,
  CONSOLE_PAGE,
  CONSOLE_SCRIPT,
  CONSOLE_STYLE,
  CONSOLE_TOOLS,
} from '../../packages/console/src/assets.generated.js'

describe('what users and clients wrote cannot become markup or script', () => {
  const FORBIDDEN =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|setAttribute\('(?!aria-label')|javascript:/

  test.each([
    ['script.js', CONSOLE_SCRIPT],
    ['live.js', CONSOLE_LIVE],
    ['tools.js', CONSOLE_TOOLS],
  ])('%s puts in text only', (_, script) => {
    expect(script).not.toMatch(FORBIDDEN)
  })

  test('the page has no inline script, style or handler, and asks no other server', () => {
    expect(CONSOLE_PAGE).not.toMatch(/<style|\son\w+=|\sstyle=|https?:/)
    expect(CONSOLE_PAGE.match(/<script[^>]*>/g)).toEqual(['<script type="module" src="script.js">'])
    expect(CONSOLE_STYLE).not.toMatch(/url\(|@import/)
  })
})

describe('WCAG 2.2 AA', () => {
  const [light = '', dark = ''] = CONSOLE_STYLE.split('@media (prefers-color-scheme: dark)')
  const lightColours = readColours(light)
  const schemes = { light: lightColours, dark: { ...lightColours, ...readColours(dark) } }

  // §1.4.3: text has 4.5:1. §1.4.11: what shows the border of a control or its focus has 3:1.
  const TEXT = [
    ['text', 'page'],
    ['text', 'panel'],
    ['text', 'button'],
    ['quiet', 'page'],
    ['quiet', 'panel'],
    ['accent', 'page'],
    ['good', 'panel'],
    ['bad', 'panel'],
    ['bad', 'bad-panel'],
    ['danger-text', 'danger'],
  ] as const
  const CONTROLS = [
    ['field-line', 'panel'],
    ['accent', 'panel'],
    ['accent', 'page'],
  ] as const

  for (const [scheme, colours] of Object.entries(schemes)) {
    test.each(TEXT)(`${scheme}: %s on %s can be read`, (front, back) => {
      expect(contrast(colours[front], colours[back])).toBeGreaterThanOrEqual(4.5)
    })
    test.each(CONTROLS)(`${scheme}: %s on %s can be seen`, (front, back) => {
      expect(contrast(colours[front], colours[back])).toBeGreaterThanOrEqual(3)
    })
  }

  test('every colour is one of those', () => {
    const [, ...rules] = CONSOLE_STYLE.split('box-sizing')
    expect(rules.join('').match(/#[0-9a-f]{3,8}\b/g)).toBeNull()
  })

  test('black on white is 21:1', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
  })

  test('every field has a label', () => {
    const fields = [...CONSOLE_PAGE.matchAll(/<(?:input|select|textarea)\s+id="([\w-]+)"/g)].map(
      ([, id]) => id,
    )
    expect(fields.length).toBeGreaterThan(4)
    for (const id of fields) expect(CONSOLE_PAGE).toContain(`<label for="${id}">`)
  })
})

function readColours(css: string): Record<string, string> {
  return Object.fromEntries(
    [...css.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  ) as Record<string, string>
}

// WCAG 2.2, "contrast ratio" and "relative luminance".
function contrast(front = '', back = ''): number {
  const [lighter = 0, darker = 0] = [luminance(front), luminance(back)].toSorted((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  if (!/^#[0-9a-f]{6}$/.test(colour)) throw new Error(`There is no such colour: ${colour}`)
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

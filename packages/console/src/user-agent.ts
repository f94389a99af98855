// First match wins: most browsers name the ones that they imitate too.
const BROWSERS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Internet Explorer', /\b(?:MSIE |Trident\/)/],
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\b(?:OPR|OPT|Opera)[/ ]/],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Vivaldi', /\bVivaldi\//],
  ['Yandex Browser', /\bYaBrowser\//],
  ['DuckDuckGo', /\b(?:DuckDuckGo|Ddg)\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Android app', /; wv\)/],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium|HeadlessChrome)\//],
  // Old Android browsers use this name too.
  ['Safari', /^(?!.*\bAndroid\b).*\bSafari\//s],
]

// An iPad that asks for desktop pages says that it is a Mac: nothing in the text tells them apart.
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['iPhone', /\b(?:iPhone|iPod)\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\b(?:Macintosh|Mac OS X)\b/],
  ['Linux', /\b(?:Linux|X11)\b/],
]

// What programs send, such as curl/8.5.0 and okhttp/4.12.0.
const PROGRAM = /^([A-Za-z][\w.-]{0,30})\/\d/

// Whole characters, also of those that are two units of UTF-16.
const START = /^.{0,40}/su

/**
 * A user agent in a few words: `Chrome on Linux`, `curl`. A text that names no common browser is only shortened. Anybody
 * can send any user agent, so this is a hint for people and nothing to decide by.
 */
export function toDevice(userAgent: string): string {
  if (userAgent.startsWith('Mozilla/')) {
    // A robot that imitates a browser names itself: "compatible; Googlebot/2.1".
    const robot = /\bcompatible; ([\w-]{1,30})\/\d/.exec(userAgent)?.[1]
    const browser = robot ?? BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0]
    const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0]
    if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  }
  const program = PROGRAM.exec(userAgent)?.[1]
  if (program !== undefined && program !== 'Mozilla') return program
  const [start = ''] = START.exec(userAgent) ?? []
  return start === userAgent ? userAgent : `${start}…`
}

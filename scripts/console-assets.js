// Makes the TypeScript files with the page of the console from packages/console/src/browser: npm run console-assets
import { readFileSync, writeFileSync } from 'node:fs'

const folder = new URL('../packages/console/src/', import.meta.url)

// What the browser loads, by the name of the TypeScript file and its export.
const ASSETS = [
  [
    'page',
    'page.html',
    'CONSOLE_PAGE',
    'The page, with places for its title and the names of the CSRF cookie and header',
  ],
  ['style', 'style.css', 'CONSOLE_STYLE', 'The style sheet of the page'],
  ['script', 'script.js', 'CONSOLE_SCRIPT', 'The module that the page starts'],
  ['script-live', 'live.js', 'CONSOLE_LIVE', 'The module that shows revocations as they happen'],
  ['script-tools', 'tools.js', 'CONSOLE_TOOLS', 'What the other modules share'],
]

/** The TypeScript files by their path below packages/console/src, as they must be. */
export function createAssets() {
  return new Map(
    ASSETS.map(([name, source, constant, description]) => {
      const text = readFileSync(new URL(`browser/${source}`, folder), 'utf8')
      const lines = toShort(source, text)
        .split('\n')
        .filter((line) => line.trim() !== '')
      const literal = lines.join('\n').replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')
      const head = `// Made by scripts/console-assets.js from browser/${source}, without its empty lines.\n\n`
      return [
        `${name}.ts`,
        `${head}/** ${description}. */\nexport const ${constant}: string = \`${literal}\n\`\n`,
      ]
    }),
  )
}

/** One line for each rule of a style sheet: no file of the package is longer than 300 lines. */
function toShort(source, text) {
  return source.endsWith('.css')
    ? text.replaceAll(/([{;])\n +(?=[\w-]+:)/g, '$1 ').replaceAll(/;\n *\}/g, '; }')
    : text
}

if (import.meta.filename === process.argv[1]) {
  for (const [path, text] of createAssets()) writeFileSync(new URL(path, folder), text)
}

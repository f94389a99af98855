// Writes what the browser loads of the console into one TypeScript file, which is not committed. `npm run build`,
// `npm run typecheck`, `npm run lint` and vitest do so at their start: node tools/packages/console-assets.js
import { readFileSync, writeFileSync } from 'node:fs'

const FOLDER = new URL('../../packages/console/src/', import.meta.url)

const ASSETS = {
  CONSOLE_PAGE: 'page.html',
  CONSOLE_STYLE: 'style.css',
  CONSOLE_SCRIPT: 'script.js',
  CONSOLE_LIVE: 'live.js',
  CONSOLE_TOOLS: 'tools.js',
}

/** Makes packages/console/src/assets.generated.ts from the files in packages/console/src/browser. */
export function writeConsoleAssets() {
  const constants = Object.entries(ASSETS).map(([name, file]) => {
    const text = readFileSync(new URL(`browser/${file}`, FOLDER), 'utf8')
    return `/** The file browser/${file}. */\nexport const ${name}: string = ${JSON.stringify(text)}\n`
  })
  const head = '// Made by tools/packages/console-assets.js: edit the files in the folder browser instead.\n'
  writeFileSync(new URL('assets.generated.ts', FOLDER), [head, ...constants].join('\n'))
}

if (import.meta.filename === process.argv[1]) writeConsoleAssets()

// Writes packages/console/src/assets.generated.ts from the files in packages/console/src/browser: npm run console-assets
import { readFileSync, writeFileSync } from 'node:fs'

const folder = new URL('../packages/console/src/', import.meta.url)

// What the browser loads, by the name of its export.
const ASSETS = {
  CONSOLE_PAGE: 'page.html',
  CONSOLE_STYLE: 'style.css',
  CONSOLE_SCRIPT: 'script.js',
  CONSOLE_LIVE: 'live.js',
  CONSOLE_TOOLS: 'tools.js',
}

/** Writes the files of the console's page into a module: then neither a build step nor a file system is needed to serve them. */
export function writeAssets() {
  const constants = Object.entries(ASSETS).map(([name, file]) => {
    const text = readFileSync(new URL(`browser/${file}`, folder), 'utf8')
    return `export const ${name}: string = ${JSON.stringify(text)}\n`
  })
  const head = '// Written by scripts/console-assets.js from the files in browser/.\n'
  writeFileSync(new URL('assets.generated.ts', folder), head + constants.join(''))
}

if (import.meta.filename === process.argv[1]) writeAssets()

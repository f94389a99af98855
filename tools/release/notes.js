// Prints the section of CHANGELOG.md for a tag, and fails if the tag is not the version of package.json.
// node tools/release/notes.js v0.2.0
import { readManifest } from '../packages/pack.js'
import { runTool } from '../shared/report.js'
import { parseSection } from './changelog.js'

await runTool(() => {
  const [tag] = process.argv.slice(2)
  const { version } = readManifest()
  if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, but package.json has version ${version}`)
  console.log(parseSection(version).text)
})

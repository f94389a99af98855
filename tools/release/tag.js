import { createInterface } from 'node:readline/promises'
import { git } from './repository.js'

/** Asks, and creates the annotated tag of the version; it is not pushed. */
export async function createTag({ version }) {
  const tag = `v${version}`
  if (!process.stdin.isTTY) throw new Error(`The tag ${tag} needs a confirmation: run this in a terminal`)
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await terminal.question(`\nCreate the tag ${tag}? Type the version to confirm: `)
    if (answer.trim() !== version) {
      console.log('Not confirmed; no tag is created.')
      return
    }
  } finally {
    terminal.close()
  }
  await git('tag', '--annotate', tag, '--message', `tokenlib ${version}`)
  console.log(`Created ${tag}. To publish: git push origin ${tag}`)
}

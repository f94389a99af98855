import { readLibraryFiles } from '../helpers/library-files.js'

let source: string | undefined
const answers = new Map<string, boolean>()

/** Whether a text stands in the source of this library. */
export function isInSource(text: string): boolean {
  source ??= readLibraryFiles()
    .map((file) => file.text)
    .join('\n')
  const answer = answers.get(text) ?? source.includes(text)
  answers.set(text, answer)
  return answer
}

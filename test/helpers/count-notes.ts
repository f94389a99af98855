import { queryObjects } from 'node:v8'
import { writeNote } from '../../src/request/notes.js'

const sample = {}
writeNote(sample, {}, null)
const [symbol] = Object.getOwnPropertySymbols(sample)
const { constructor: Note } = sample[symbol as never] as object

/** How many notes are on all objects of this process that are still in use. */
export function countNotes(): number {
  return queryObjects(Note, { format: 'count' })
}

import { fileURLToPath } from 'node:url'

/** The folder of this repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

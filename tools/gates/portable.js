import { run } from '../shared/processes.js'
import { assertNone } from '../shared/report.js'

// Absolute paths of somebody's machine; a path that continues a host, a variable or `..` is none.
const MACHINE_PATH = '(^|[^A-Za-z0-9_.~})-])/(home|root|work|Users)/'
// A lock file without hosts installs from whatever registry the reader uses.
const REGISTRY = '(https?://registry\\.|"resolved": *"https?:)'

/** No tracked text file names a path of one machine or the host of a registry. */
export async function checkPortable({ root }) {
  const tracked = await run('git', ['ls-files', '-z'], root)
  const [paths, hosts] = [await grep(MACHINE_PATH, root), await grep(REGISTRY, root)]
  assertNone([
    ...paths.map((line) => `machine path: ${line}`),
    ...hosts.map((line) => `registry host: ${line}`),
  ])
  return `${tracked.split('\0').length - 1} tracked files`
}

async function grep(pattern, root) {
  try {
    return (await run('git', ['grep', '-I', '-n', '-E', '-e', pattern], root)).trim().split('\n')
  } catch (error) {
    if (error.cause?.code === 1) return [] // git grep's way of saying that nothing matched
    throw error
  }
}

import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'
import { compareVersions } from './versions.js'

const RELEASE_BRANCH = 'main'

/** What a git command prints, without the line end. */
export async function git(...args) {
  return (await run('git', args, root)).trimEnd()
}

/** The tag of the newest release before this version, or `null` if there is none. */
export async function readLastTag(version) {
  const tags = (await git('tag', '--list', 'v*', '--merged', 'HEAD')).split('\n')
  // In the workflow of a tag, the commit has the tag of the version already.
  const releases = tags.filter((tag) => tag !== `v${version}` && /^v\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(tag))
  return releases.toSorted((a, b) => compareVersions(b.slice(1), a.slice(1)))[0] ?? null
}

/** Nothing is uncommitted, and the branch is the one that releases are made from. */
export async function checkTree() {
  const changed = (await git('status', '--porcelain')).split('\n').filter(Boolean)
  const branch = await git('rev-parse', '--abbrev-ref', 'HEAD')
  const problems = [
    ...(branch === RELEASE_BRANCH ? [] : [`the branch is ${branch}, not ${RELEASE_BRANCH}`]),
    ...(changed.length === 0
      ? []
      : [`${changed.length} files are not committed:`, ...changed.slice(0, 10).map((line) => `  ${line}`)]),
  ]
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return `${branch} at ${(await git('rev-parse', 'HEAD')).slice(0, 12)}, nothing uncommitted`
}

/** The version of package.json is newer than the last tag, and has no tag of its own. */
export async function checkVersion({ version, lastTag }) {
  if ((await git('tag', '--list', `v${version}`)) !== '')
    throw new Error(`The tag v${version} exists already`)
  if (lastTag === null)
    return `${version}; THERE IS NO TAG YET, so this is the first release that is compared with nothing`
  if (compareVersions(version, lastTag.slice(1)) <= 0) {
    throw new Error(
      `package.json has ${version}, which is not newer than ${lastTag}: npm version --no-git-tag-version`,
    )
  }
  return `${version}, after ${lastTag}`
}

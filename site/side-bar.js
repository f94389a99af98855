// The side bar, and the list of pages for llms.txt, both from the navigation.
import { join } from 'node:path'
import { NAVIGATION } from './navigation.js'
import { listReferencePages } from './reference.js'
import { listDocs, PROJECT_ITEMS, readTitle, ROOT } from './sources.js'

/** The groups of the navigation with every page that they name, generated ones included. */
export function listGroups() {
  const groups = NAVIGATION.map(({ text, items }) => ({
    text,
    items: [...items.flatMap(expand), ...(text === 'Project' ? PROJECT_ITEMS : [])],
  }))
  const reference = { text: 'API reference', items: listReferencePages() }
  return [...groups, reference].filter(({ items }) => items.length > 0)
}

/** The pages of one entry of the navigation. */
export function expand(item) {
  if (item.folder === undefined) return [item]
  return listDocs()
    .filter((page) => page.startsWith(`${item.folder}/`))
    .map((page) => ({ text: readTitle(join(ROOT, 'docs', `${page}.md`)), page, folder: item.folder }))
}

/** The groups as the default theme takes them. Only the first ones are open: the list is long. */
export function createSideBar() {
  return listGroups().map(({ text, items }, at) => ({
    text,
    collapsed: at > 2,
    items: [
      ...items.filter(({ folder }) => folder === undefined).map(toLink),
      ...(items.some(({ folder }) => folder === 'decisions')
        ? [{ text: 'Decisions', link: '/decisions/' }]
        : []),
    ],
  }))
}

function toLink({ text, page }) {
  return { text, link: `/${page}` }
}

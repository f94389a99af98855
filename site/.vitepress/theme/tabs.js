// Remembers which tabs the reader chose, and shows those on every page.
const STORAGE_KEY = 'tokenlib-tabs'
const MAX_NAMES = 20

/** Selects, in each group of the page, the tab that was chosen last. */
export function restoreTabs() {
  const names = readNames()
  for (const group of document.querySelectorAll('.tab-group')) {
    const labels = [...group.querySelectorAll('label')]
    const name = names.find((name) => labels.some((label) => label.dataset.title === name))
    if (name !== undefined) select(group, name)
  }
}

/** Remembers a tab when it is chosen, and selects it in the other groups of the page. */
export function watchTabs() {
  document.addEventListener('change', ({ target }) => {
    const group = target instanceof HTMLInputElement ? target.closest('.tab-group') : null
    if (group === null) return
    const name = group.querySelector(`label[for="${target.id}"]`).dataset.title
    // The groups above may change their height: what the reader looks at stays where it is.
    const before = group.getBoundingClientRect().top
    writeNames([name, ...readNames().filter((other) => other !== name)].slice(0, MAX_NAMES))
    restoreTabs()
    window.scrollBy(0, group.getBoundingClientRect().top - before)
  })
}

function select(group, name) {
  const inputs = [...group.querySelectorAll('input')]
  const at = inputs.findIndex(
    (input) => group.querySelector(`label[for="${input.id}"]`).dataset.title === name,
  )
  inputs[at].checked = true
  for (const [index, panel] of [...group.querySelector('.blocks').children].entries()) {
    panel.classList.toggle('active', index === at)
  }
}

// Storage may be full, or forbidden by the browser.
function readNames() {
  try {
    const names = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]')
    return Array.isArray(names) ? names : []
  } catch {
    return []
  }
}

function writeNames(names) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(names))
  } catch {
    // The choice holds for this page.
  }
}

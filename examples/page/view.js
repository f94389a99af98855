// What the page shows. Every value is text: nothing from the server or from a user becomes markup.

/**
 * An element of the page.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function find(id) {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`The page has no element ${id}`)
  return element
}

/**
 * @param {string} id
 * @param {boolean} isShown
 */
export function show(id, isShown) {
  find(id).hidden = !isShown
}

/**
 * Changes a text only if it is another one, so that screen readers do not repeat it.
 *
 * @param {string} id
 * @param {string} text
 * @param {string} [className]
 */
export function setText(id, text, className) {
  const element = find(id)
  if (element.textContent !== text) element.textContent = text
  if (className !== undefined) element.className = className
}

/**
 * The message above everything else.
 *
 * @param {string} text
 * @param {'good' | 'warn' | 'bad'} [kind]
 */
export function showNotice(text, kind = 'good') {
  setText('notice', text, `notice ${kind}`)
}

/**
 * @param {string} id
 * @param {Readonly<Record<string, unknown>>} values
 * @param {boolean} [areGrouped]
 */
export function showValues(id, values, areGrouped = false) {
  const rows = Object.entries(values).map(([name, value]) => {
    const pair = [create('dt', name), create('dd', typeof value === 'string' ? value : JSON.stringify(value))]
    if (!areGrouped) return pair
    const group = create('div')
    group.append(...pair)
    return [group]
  })
  find(id).replaceChildren(...rows.flat())
}

/**
 * A line in the log of events, the newest first.
 *
 * @param {string} name
 * @param {string} text
 */
export function addEvent(name, text) {
  const item = create('li')
  const time = create('time', new Date().toLocaleTimeString('en-GB'))
  item.append(time, create('code', name), create('span', text))
  const log = find('log')
  log.prepend(item)
  while (log.childElementCount > MAX_EVENTS) log.lastElementChild?.remove()
}

const MAX_EVENTS = 100

/**
 * The list of devices. Items that are there already stay, so that the focus is not lost.
 *
 * @param {readonly Device[]} devices
 * @param {(device: Device) => void} end
 *
 * @typedef {import('@tokenlib/client').ListedSession} Device
 */
export function showDevices(devices, end) {
  const list = find('device-list')
  const present = new Map(
    Array.from(list.children, (item) => [item instanceof HTMLElement ? item.dataset['id'] : '', item]),
  )
  const items = devices.map((device) => present.get(device.id) ?? createDevice(device, end))
  for (const [at, device] of devices.entries()) {
    const used = items[at]?.querySelector('.hint')
    if (used) used.textContent = describeDevice(device)
  }
  for (const item of list.children) if (!items.includes(item)) item.remove()
  for (const [at, item] of items.entries()) {
    if (list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null)
  }
  setText('devices-count', devices.length === 1 ? '1 session' : `${devices.length} sessions`)
  show('end-others', devices.length > 1)
}

/**
 * @param {Device} device
 * @param {(device: Device) => void} end
 */
function createDevice(device, end) {
  const item = create('li')
  item.dataset['id'] = device.id
  const text = create('div')
  const name = create('p')
  name.append(create('strong', toDeviceName(device.userAgent)))
  const used = create('p', describeDevice(device))
  used.className = 'hint'
  text.append(name, used)
  item.append(text)
  if (device.isCurrent) {
    const badge = create('p', 'this device')
    badge.className = 'badge'
    item.append(badge)
  } else {
    const button = create('button', 'End')
    button.type = 'button'
    button.setAttribute('aria-label', `End the session in ${toDeviceName(device.userAgent)}`)
    button.addEventListener('click', () => end(device))
    item.append(button)
  }
  return item
}

/** @param {Device} device */
function describeDevice({ ip, createdAt, lastUsedAt }) {
  return [
    `since ${toTime(createdAt)}`,
    ...(lastUsedAt === createdAt ? [] : [`renewed ${toTime(lastUsedAt)}`]),
    ip ?? 'address not known',
  ].join(' · ')
}

/** @param {string} text */
function toTime(text) {
  return new Date(text).toLocaleTimeString('en-GB')
}

/**
 * A short name of a browser; what is not known is shown as it came.
 *
 * @param {string | null} userAgent
 */
export function toDeviceName(userAgent) {
  if (userAgent === null) return 'Unknown client'
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1]
  if (browser === undefined) return userAgent
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1]
  return system === undefined ? browser : `${browser} on ${system}`
}

// The first that fits: browsers name those that they want to be taken for.
/** @type {readonly (readonly [RegExp, string])[]} */
const BROWSERS = [
  [/^Mozilla\/5\.0 \(.*\) .*Firefox\/[\d.]+$/, 'Firefox'],
  [/^Mozilla\/5\.0 \(.*\) .*Edg\/[\d.]+$/, 'Edge'],
  [/^Mozilla\/5\.0 \(.*\) .*Chrome\/[\d.]+( Mobile)? Safari\/[\d.]+$/, 'Chrome'],
  [/^Mozilla\/5\.0 \(.*\) .*Version\/[\d.]+ .*Safari\/[\d.]+$/, 'Safari'],
  [/^curl\/[\d.]+$/, 'curl'],
]
/** @type {readonly (readonly [RegExp, string])[]} */
const SYSTEMS = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone|iPad\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
]

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Name]}
 */
function create(name, text = '') {
  const element = document.createElement(name)
  element.textContent = text
  return element
}

// Runs before a page is shown. This file is at the top of the site, which may be served at any path.
globalThis.SITE_BASE = new URL('.', document.currentScript.src).pathname

// Links are relative until the application takes over. It changes the address without loading a page, so relative links,
// including the icon, would then lead somewhere else.
document.addEventListener('readystatechange', () => {
  if (document.readyState !== 'interactive') return
  for (const link of document.querySelectorAll('a[href], link[rel=icon]')) {
    const href = link.getAttribute('href')
    if (/^\.{1,2}\//.test(href)) link.setAttribute('href', toPath(link.href))
  }
})

function toPath(url) {
  const { pathname, search, hash } = new URL(url)
  return pathname + search + hash
}

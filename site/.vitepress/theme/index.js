import DefaultTheme from 'vitepress/theme-without-fonts'
import { onMounted, watch } from 'vue'
import { useRoute } from 'vitepress'
import { restoreTabs, watchTabs } from './tabs.js'
import './style.css'

// Words that almost every page has.
const FILLERS = new Set(
  'a an and can do does for how i in is it my of on or the to what when why with'.split(' '),
)

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    siteData.value = withSearchOptions(siteData.value)
  },
  setup() {
    const route = useRoute()
    onMounted(() => {
      watchTabs()
      restoreTabs()
    })
    watch(() => route.path, restoreTabs, { flush: 'post' })
  },
}

// Here and not in the configuration, whose functions would be sent as text and evaluated in browsers: guides come
// before the reference and the decisions.
function withSearchOptions(site) {
  const searchOptions = {
    boostDocument: (page) => (/\/(?:reference|decisions)\//.test(page) ? 0.3 : 1),
    // The start of a short word matches too much.
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    processTerm: (term) => (FILLERS.has(term.toLowerCase()) ? null : term.toLowerCase()),
  }
  const { search } = site.themeConfig
  const options = { ...search.options, miniSearch: { searchOptions } }
  return { ...site, themeConfig: { ...site.themeConfig, search: { ...search, options } } }
}

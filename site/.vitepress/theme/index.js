import DefaultTheme from 'vitepress/theme-without-fonts'
import { onMounted, watch } from 'vue'
import { useRoute } from 'vitepress'
import { restoreTabs, watchTabs } from './tabs.js'
import './style.css'

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
  const searchOptions = { boostDocument: (page) => (/\/(?:reference|decisions)\//.test(page) ? 0.3 : 1) }
  const { search } = site.themeConfig
  const options = { ...search.options, miniSearch: { searchOptions } }
  return { ...site, themeConfig: { ...site.themeConfig, search: { ...search, options } } }
}

import DefaultTheme from 'vitepress/theme'
import { onMounted, watch } from 'vue'
import { useRoute } from 'vitepress'
import { restoreTabs, watchTabs } from './tabs.js'
import './style.css'

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute()
    onMounted(() => {
      watchTabs()
      restoreTabs()
    })
    watch(() => route.path, restoreTabs, { flush: 'post' })
  },
}

import { describeEveryStore } from './histories/every-store.js'

describeEveryStore(2000, 60_000)

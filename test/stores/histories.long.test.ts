import { describeEveryStore } from './histories/every-store.js'

describeEveryStore(100_000, 1_800_000)
